# not saved: it lists its names, one more then
# env: PYTHONPATH=.
# A sitecustomize and a usercustomize of the user's run as if cg had none.
import sys
import sitecustomize

print(sitecustomize.f(), sitecustomize.__file__, sitecustomize.__spec__.name, sys.path[:2], sorted(vars(sitecustomize)))
print([m for m in sys.modules if m.endswith("customize")])

# not saved: the rendered program has a codegreen_runtime.py of its own
# Files of the program may have the names that checkpoints use for themselves,
# and the script's folder may have a sitecustomize of its own, that is imported
# when the program asks for it.
import cg
import cgprobe
import codegreen_runtime
import importing
import pure
import weave
import sitecustomize

print(cg.mine(), cgprobe.mine(), codegreen_runtime.mine(), importing.mine(), pure.mine(), weave.mine())
print(sitecustomize.mine())

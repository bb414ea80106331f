# After a change of folder, the script's own modules are still found.
import os
os.chdir("/")
import late

print(late.f(), os.getcwd())
raise RuntimeError("traceback from another folder")

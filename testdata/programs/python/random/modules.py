"""Imports the modules named on the command line, one after the other."""
import asyncio
import importlib
import sys
import traceback

import helpers

for name in sys.argv[1:]:
    print("==", name, flush=True)
    print("==", name, file=sys.stderr, flush=True)
    helpers.left = 300
    try:
        importlib.import_module(name)
    except BaseException as e:
        print("ended by", helpers.show(e))
        traceback.print_exc()

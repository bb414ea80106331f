# Files of the program may have the names of modules that checkpoints need.
import ast
import codecs_
import json
import struct
import types
import warnings

print(ast.mine(), json.mine(), types.mine(), struct.mine(), warnings.mine(), codecs_.mine())

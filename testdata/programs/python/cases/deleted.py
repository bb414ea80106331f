# A script that removes itself has no source for its traceback.
import os


def fails():
    os.unlink(__file__)
    raise RuntimeError("without source")


fails()

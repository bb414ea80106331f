# not saved: its lines move
# The hooks of a program see its exceptions and nothing of ours.
import sys
import threading


def hook(kind, value, tb):
    names = []
    while tb:
        names.append((tb.tb_frame.f_code.co_name, tb.tb_lineno))
        tb = tb.tb_next
    print(kind.__name__, value, names, sys.exc_info())


def fails():
    raise RuntimeError("uncaught")


def thread_hook(args):
    print("thread", args.exc_type.__name__, args.exc_value)


threading.excepthook = thread_hook
t = threading.Thread(target=fails)
t.start()
t.join()
sys.excepthook = hook
fails()

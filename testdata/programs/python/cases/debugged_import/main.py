# needs 3.11
# not saved: its lines move
# not pure: checkpoints in Python are traced like any Python
# A debugger that skips the import system steps through an import into the
# module, over all that loads it.
import bdb
import os


class Stepper(bdb.Bdb):
    def user_line(self, frame):
        print(os.path.basename(frame.f_code.co_filename), frame.f_code.co_name, frame.f_lineno)
        self.set_step()


def load():
    import beside
    return beside.value


Stepper(skip=["importlib*", "_frozen_importlib*"]).runcall(load)

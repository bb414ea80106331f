"""The events of checkpoints, and how woven code has them until they are live: as
string constants, MARK and "KIND:SITE" and a letter of TYPES. The native module
(python_checkpoint.h) has the same numbers.
"""

MARK = "\0cg-checkpoint:"
ENTER, EXIT, SUSPEND, RESUME, UNWIND, CLOSE = range(6)  # kinds
PLACE = 6  # the innermost call goes to a place in its code
OWN = (1 << 21) - 1  # the site of cg's own work inside the program

# How a checkpoint looks at its frame, which can be suspended, by the letter
# behind its mark; the native module says what each does.
PLAIN, WAIT, ALONE, OPEN, OVER, AGAIN, SHUT = range(7)
PAUSES = {"p": PLAIN, "w": WAIT, "y": ALONE, "o": OPEN, "v": OVER, "g": AGAIN, "h": SHUT}

# Types of checkpoints by their letter: one that records, and those of frames that
# can be suspended. Their order is that of numbers in entries of the cache.
TYPES = "", "p", "w", "y", "o", "v", "g", "h"

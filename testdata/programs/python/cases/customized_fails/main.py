# env: PYTHONPATH=.
# One that fails is reported by the interpreter, and the program runs.
print("program")

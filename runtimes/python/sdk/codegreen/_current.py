"""Which session this process has. The modules that ask for it import this one."""
session = None  # the active session
finished = 0    # sessions that wrote to the name that they have by default

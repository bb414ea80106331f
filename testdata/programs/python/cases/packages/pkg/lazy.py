loaded = True


def __getattr__(name):
    return name.upper()

def here():
    return __name__

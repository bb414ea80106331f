def fails():
    return 1 / 0

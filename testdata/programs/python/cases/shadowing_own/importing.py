def mine():
    return __name__, "of the program"

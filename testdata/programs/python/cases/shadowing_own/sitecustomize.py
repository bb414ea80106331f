def mine():
    return __name__, "never asked before the script"

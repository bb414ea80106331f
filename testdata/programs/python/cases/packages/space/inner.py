def inside():
    return __name__, __package__

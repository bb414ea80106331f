def help():
    import __main__
    return __main__.__name__

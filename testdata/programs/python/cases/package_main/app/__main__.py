from . import __name__ as name


def main():
    return name, __name__, __spec__.name


print(main())

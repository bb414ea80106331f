import sys
import beside


def main():
    print(__name__, __file__, sys.argv, __package__, __spec__.name, sys.path[0], beside.here())


main()

import sys
print("package", __name__, sys.argv)

# run: .
# A folder is run by its __main__.py.

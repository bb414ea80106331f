# run: -m app
# A package is run by its __main__ module.

# run: -m app.tool one two
# "python -m" runs a module of a package as the main module.
raise SystemExit("not this file")

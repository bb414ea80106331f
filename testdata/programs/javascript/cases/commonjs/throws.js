function fails() { throw new Error("while it loads") }
fails()

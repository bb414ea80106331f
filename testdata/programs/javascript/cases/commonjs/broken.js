function f( { return }

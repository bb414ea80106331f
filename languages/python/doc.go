// Package python finds the functions of Python programs, and starts an interpreter
// that adds checkpoints to modules as it loads them.
//
// It takes a target as the interpreter takes it: a script, a module, a folder or archive,
// or a text. It returns plans of the source files and the command that runs the program.
package python

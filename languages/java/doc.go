// Package java finds the methods of Java programs, rewrites their sources with
// checkpoints, and has javac, or the project's own build, compile them.
//
// It takes a target: a source file, a folder of sources, a jar with its sources, or a
// project with its build command. It returns plans of the source files and the command
// that runs the program. The rewritten files are in cg's own cache; no file of the
// user's is written.
package java

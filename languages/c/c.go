// Package c finds the functions of C programs, and has the user's compiler build them with
// checkpoints.
//
// It takes a target as a compiler takes it: source files, or a folder of them. The compiler
// preprocesses each; what comes out, with its line markers, is planned and rewritten, and is
// compiled. So macros and headers are text, and lines are those of the user's files. Results
// are kept in cg's own cache; no file of the user's is written.
package c

import (
	"cg/languages"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "c",
			Title:       "C",
			Targets:     targets,
			Extensions:  []string{".c"},
			Decode:      func(source []byte) ([]byte, error) { return source, nil },
			Plan:        planFile,
			PlanVersion: planVersion,
			Check:       check,
			Launch:      launch,
			Files:       sourceFiles,
		},
		Capabilities: languages.Capabilities{
			Interpreter: &languages.Interpreter{Flag: "cc", Argument: flagBeforeTarget,
				Versions: [][]string{{"cc", "--version"}, {"gcc", "--version"}, {"clang", "--version"}}},
			Options: &languages.Options{
				Flags: []languages.Flag{{Name: "build-flags",
					Usage: "`FLAGS` for the compiler, such as '-O3 -Iinclude -lz'"}},
				Switches: []languages.Flag{{Name: "inline",
					Usage: "checkpoints also in short functions without loops and calls"}},
			},
			SaveTarget: saveTarget,
		},
	})
}

// Package golang finds the functions of Go programs, rewrites the program's files with
// checkpoints, and has the go command build them.
//
// It takes a target as go run or go test takes it. It returns plans of its files and the
// command that runs the program. The rewritten files are in cg's own cache and reach the
// compiler through an overlay; no file of the user's is written.
package golang

import (
	"cg/languages"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "go",
			Title:       "Go",
			Targets:     targets,
			Extensions:  []string{".go"},
			Decode:      decode,
			Plan:        planFile,
			PlanVersion: planVersion,
			Check:       check,
			Launch:      launch,
			Files:       sourceFiles,
		},
		Capabilities: languages.Capabilities{
			Interpreter: &languages.Interpreter{Flag: "go", Argument: flagBeforeTarget,
				Versions: [][]string{{"go", "version"}}},
			Options: &languages.Options{
				Flags: []languages.Flag{{Name: "build-flags",
					Usage: "`FLAGS` for go build, such as '-tags x -race'"}},
				Switches: []languages.Flag{{Name: "inline",
					Usage: "checkpoints also in functions that the compiler inlines wherever they are called"}},
			},
			Recognize:  isTarget,
			PlanTarget: planTarget,
			SaveTarget: saveTarget,
			Places:     true,
			SDK:        &languages.SDK{Files: sdkFiles},
		},
	})
}

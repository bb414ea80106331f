// Package node finds the functions of JavaScript and TypeScript programs, and runs them under Node with
// checkpoints.
//
// It takes a target as the command node takes it. Its runtime sends each module of the program to cg as
// Node loads it, and cg gives it back with checkpoints inserted. Every insertion stands on the line where
// it belongs. No file of the user's is written.
package node

import (
	"cg/languages"
	"cg/runtimes"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "javascript",
			Title:       "JavaScript and TypeScript",
			Targets:     targets,
			Extensions:  extensions,
			Decode:      decode,
			Plan:        planModule,
			PlanVersion: planVersion,
			Check:       check,
			Launch:      launch,
			Files:       sourceFiles,
		},
		Capabilities: languages.Capabilities{
			Aliases: []string{"node", "typescript"},
			WhyNothing: "none of the files that Node loaded belongs to the program (--include NAME takes in a " +
				"package of node_modules), or they ran through node:vm",
			Interpreter: &languages.Interpreter{
				Flag:       "node",
				Argument:   flagBeforeTarget,
				Versions:   [][]string{{"node", "--version"}, {"nodejs", "--version"}},
				Interprets: isInterpreter,
			},
			Runtime: &languages.Runtime{
				Library: "node.c",
				// Named so from Node 24 on; before, all threads are called node.
				Background: []languages.ThreadClass{
					{Name: "garbage collection and JIT compilation", Threads: []string{"V8Worker"}},
					{Name: "libuv pool", Threads: []string{"libuv-worker"}},
				},
			},
			Rewrite:    rewrite,
			SaveTarget: saveTarget,
			SDK:        &languages.SDK{Files: func() (map[string][]byte, error) { return runtimes.Folder("node/sdk") }},
		},
	})
}

// extensions are the endings of source files.
var extensions = []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}

package java

import (
	"cg/languages"
	"cg/runtimes"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "java",
			Title:       "Java",
			Targets:     targets + "; with --project DIR the command that builds and runs the project",
			Extensions:  []string{".java"},
			Decode:      decode,
			Plan:        planFile,
			PlanVersion: planVersion,
			Check:       check,
			Launch:      launch,
			Files:       sourceFiles,
		},
		Capabilities: languages.Capabilities{
			Interpreter: &languages.Interpreter{Flag: "java", Argument: interpreterFlag,
				Versions: [][]string{{"javac", "-version"}}},
			Options: &languages.Options{Flags: []languages.Flag{
				{Name: "main", Usage: "the class to start, where a folder of sources has several (`CLASS`)"},
				{Name: "sources",
					Usage: "where the sources of a jar are (`JAR` or folder); " +
						"default: NAME-sources.jar beside NAME.jar"},
				{Name: "encoding", Usage: "`NAME` of the sources' encoding, as javac knows it"},
				{Name: "project",
					Usage:  "build a copy of the project `DIR` with checkpoints: TARGET is the build's command",
					Target: true},
			}, Switches: []languages.Flag{
				{Name: launcherFlag,
					Usage: "have java compile and run a single file itself: traces end with its launcher's frames"},
			}},
			Runtime: &languages.Runtime{
				Library: "java.c",
				Background: []languages.ThreadClass{
					// HotSpot's: the workers of each collector (OpenJDK, src/hotspot/share/gc),
					// and the thread that makes the pauses.
					{Name: "garbage collection", Threads: []string{
						"GC Thread#*", "G1 *", "VM Thread", "Shenandoah *", "ZWorker*", "ZDriver*", "ZDirector",
						"ZStat",
						"ZUncommitter*", "ZUnmapper", "RuntimeWorker#*",
					}},
					{Name: "JIT compilation",
						Threads: []string{"C[12] CompilerThre*", "JVMCI-native Co*", "Sweeper thread"}},
				},
			},
			SaveFile: &languages.SaveFile{
				Render:       renderAlone,
				SupportFiles: func() (map[string][]byte, error) { return nil, nil },
			},
			PlanFor:     planFor,
			Places:      true,
			OwnsProject: ownsProject,
			SDK:         &languages.SDK{Files: func() (map[string][]byte, error) { return runtimes.Folder("java/sdk") }},
		},
	})
}

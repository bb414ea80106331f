package python

import (
	"os"
	"path/filepath"

	"cg/languages"
	"cg/runtimes"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "python",
			Title:       "Python",
			Targets:     targets,
			Extensions:  []string{".py", ".pyw", ".pyz"},
			Decode:      decode,
			Plan:        planModule,
			PlanVersion: planVersion,
			Check:       check,
			Launch:      launch,
			Files:       sourceFiles,
		},
		Capabilities: languages.Capabilities{
			Interpreter: &languages.Interpreter{
				Flag:        "python",
				Argument:    interpreterFlag,
				TargetFlags: []string{"-m", "-c"},
				Versions:    [][]string{{"python3", "--version"}, {"python", "--version"}},
				Interprets:  isInterpreter,
			},
			Runtime:    &languages.Runtime{Library: "python.c"},
			Packages:   packages,
			Places:     true,
			Inner:      true,
			Outline:    outline,
			FindPlaces: findPlaces,
			Modules:    modulesOf,
			Weave:      weave,
			SaveFile: &languages.SaveFile{
				Render: render,
				SupportFiles: func() (map[string][]byte, error) {
					b, err := runtimes.Files.ReadFile("python/codegreen_runtime.py")
					return map[string][]byte{"codegreen_runtime.py": b}, err
				},
			},
			SDK: &languages.SDK{
				Files: func() (map[string][]byte, error) {
					files, err := runtimes.Folder("python/sdk")
					if err == nil {
						files["codegreen_runtime.py"], err = runtimes.Files.ReadFile("python/codegreen_runtime.py")
					}
					return files, err
				},
				Offer: func(cache runtimes.Cache, scratch string) (map[string]string, error) {
					here, err := runtimes.Unpack("python", cache, scratch)
					path := filepath.Join(here, "offered") // behind the user's
					if old := os.Getenv("PYTHONPATH"); old != "" {
						path = old + string(os.PathListSeparator) + path
					}
					return map[string]string{"PYTHONPATH": path}, err
				},
			},
		},
	})
}

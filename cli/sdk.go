package cli

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/languages"
	"cg/near"
)

func sdkCommand() *cli.Command {
	return &cli.Command{
		Name:      "sdk",
		Usage:     "write the package that lets a program measure parts of itself",
		ArgsUsage: "LANG DIR",
		Description: `LANG is ` + strings.Join(sdkLanguages(), ", ") + `. DIR must be empty or not exist. The
package needs nothing else and can be installed without a network:

  cg sdk python codegreen && pip install ./codegreen

For C and C++ these are the headers codegreen.h (sessions), codegreen_gpus.h (what
tasks have of GPUs) and codegreen_requests.h (requests). Sessions of C, C++ and
JavaScript need cg when the program runs. docs/session.md describes their use.

Exit status: 0; 1 if DIR cannot be written; 2 usage.`,
		Action: runSDK,
	}
}

func sdkLanguages() []string {
	var names []string
	for _, l := range languages.All() {
		if l.SDK != nil {
			names = append(names, l.Name)
		}
	}
	return names
}

func runSDK(c *cli.Context) error {
	if c.NArg() != 2 {
		return exit.Usage("sdk: want a language and a folder: cg sdk %s DIR", strings.Join(sdkLanguages(), "|"))
	}
	lang, dir := languages.Named(c.Args().First()), c.Args().Get(1)
	if lang == nil || lang.SDK == nil {
		return exit.Usage("sdk: there is none for %q: %s", c.Args().First(),
			near.Or(c.Args().First(), sdkLanguages(), "use "+strings.Join(sdkLanguages(), ", ")))
	}
	files, err := lang.SDK.Files()
	if err != nil {
		return exit.Failure("%w", err)
	}
	there, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return exit.Failure("sdk: %w", err)
	case len(there) > 0:
		return exit.Failure("sdk: %s is not empty: name another folder, or remove it", dir)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return exit.Failure("sdk: %w", err)
		}
		if err := os.WriteFile(file, files[name], 0o666); err != nil {
			return exit.Failure("sdk: %w", err)
		}
	}
	tell.Put("%s\n", dir)
	return nil
}

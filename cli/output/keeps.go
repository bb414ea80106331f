package output

import (
	"os"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
)

// Keeps refuses flags that would write over a file that is read.
func Keeps(c *cli.Context, read []string, flags ...string) error {
	for _, flag := range flags {
		to, err := os.Stat(c.String(flag))
		if err != nil || !to.Mode().IsRegular() {
			continue
		}
		for _, name := range read {
			if from, err := os.Stat(name); err == nil && os.SameFile(from, to) {
				return exit.Usage("--%s: %s is what is compared, and would be lost: name another file", flag,
					c.String(flag))
			}
		}
	}
	return nil
}

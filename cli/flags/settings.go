package flags

import "github.com/urfave/cli/v2"

// Settings are what files and the environment say of flags. They need the flags of all commands, so cli hands them to
// the room of a command that asks for more than the values of its flags.
type Settings interface {
	// Flag names a file in place of the user's and the project's.
	Flag() cli.Flag
	// Apply gives flags that are not on the command line the values that a command's settings have for them.
	Apply(c *cli.Context, command string) error
	// Read reads the files anew. The settings that it gives are those of the command's flags, by the flag.
	Read(c *cli.Context) (of func(f cli.Flag) (texts []string, ok bool), err error)
	// Table reads a table whose names are free.
	Table(c *cli.Context, name string) (map[string]string, error)
}

package experiment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/launcher"
	"cg/measure"
	"cg/monitor/annotate"
	"cg/runtimes/sdk/spec"
	"cg/scratch"
)

// hear opens the socket at which a program says what requests it works on, and names it in the command's
// environment. The caller closes it. Where the environment names one already, it is that of a cg monitor, and the run
// hears nothing; so it does where no socket can be made.
func hear(command *launcher.Cmd) (requests measure.Requests, done func()) {
	const name = spec.RequestSocketVariable + "="
	env := command.Env
	if env == nil {
		env = os.Environ()
	}
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name) && kv != name }) {
		return nil, func() {}
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return kv == name })
	base, err := filepath.Abs(os.TempDir()) // the program may change its folder
	if err != nil || len(base) > socketLength-len("/cg-run-0123456789/requests\x00") {
		base = "/tmp"
	}
	folder, err := scratch.NewFolder(base)
	if err != nil {
		return nil, func() {}
	}
	path := filepath.Join(folder.Path, "requests")
	server, err := annotate.Listen(path, "")
	if err != nil {
		folder.Remove()
		return nil, func() {}
	}
	command.Env = append(env, name+path)
	return server, func() {
		server.Close()
		folder.Remove()
	}
}

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// targets is what a target can be.
const targets = "a script or a module, a folder with an index.js or a package.json that names its main file, " +
	"-e TEXT, --test, or - for standard input"

// commandLine splits a command line into Node's own flags, the target and the program's arguments.
type commandLine struct {
	flags []string
	path  string // of a script, "-" for standard input, "" where a flag is the target
}

// withValue are flags whose value may be the next argument (node --help).
var withValue = []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions",
	"--allow-fs-read", "--allow-fs-write", "--build-snapshot-config", "--cpu-prof-dir", "--cpu-prof-interval",
	"--cpu-prof-name", "--diagnostic-dir", "--disable-proto", "--disable-warning", "--dns-result-order", "--env-file",
	"--env-file-if-exists", "--experimental-default-type", "--experimental-sea-config",
	"--heap-prof-dir", "--heap-prof-interval", "--heap-prof-name", "--heapsnapshot-near-heap-limit",
	"--heapsnapshot-signal", "--icu-data-dir", "--input-type", "--inspect-port", "--inspect-publish-uid",
	"--localstorage-file", "--max-http-header-size", "--max-old-space-size-percentage",
	"--network-family-autoselection-attempt-timeout", "--openssl-config", "--redirect-warnings", "--report-dir",
	"--report-directory", "--report-filename", "--report-signal", "--secure-heap", "--secure-heap-min",
	"--snapshot-blob", "--test-concurrency", "--test-coverage-branches", "--test-coverage-exclude",
	"--test-coverage-functions", "--test-coverage-include", "--test-coverage-lines", "--test-global-setup",
	"--test-isolation", "--test-name-pattern", "--test-reporter", "--test-reporter-destination", "--test-shard",
	"--test-skip-pattern", "--test-timeout", "--title", "--tls-cipher-list", "--tls-keylog",
	"--trace-event-categories", "--trace-event-file-pattern", "--trace-require-module", "--unhandled-rejections",
	"--use-largepages",
	"--v8-pool-size", "--watch-kill-signal", "--watch-path"}

// inPlace are flags that stand in a target's place; those of withText have a text behind them, some also in
// the same argument.
var (
	inPlace  = []string{"--test", "-i", "--interactive", "-h", "--help", "-v", "--version"}
	withText = []string{"-e", "--eval", "-p", "--print", "-pe"}
)

// standsForTarget reports whether a flag stands in a target's place.
func standsForTarget(f string) bool {
	return slices.Contains(inPlace, f) || slices.Contains(withText, f) ||
		strings.HasPrefix(f, "--eval=") || strings.HasPrefix(f, "--print=")
}

// flagBeforeTarget reports whether an argument in front of the target is a flag of Node, how many more
// arguments it takes, and whether it stands for the target.
func flagBeforeTarget(a string) (more int, target, ok bool) {
	if len(a) < 2 || a[0] != '-' || a == "--" {
		return 0, false, false
	}
	if slices.Contains(withText, a) || slices.Contains(withValue, a) {
		more = 1
	}
	return more, standsForTarget(a), true
}

func splitArgs(t languages.Target) (commandLine, error) {
	var p commandLine
	stands := false
	for i := 0; i < len(t.Args); i++ {
		a := t.Args[i]
		if a == "-" || !strings.HasPrefix(a, "-") {
			p.path = a
			return p, nil
		}
		more, target, _ := flagBeforeTarget(a)
		if i+more >= len(t.Args) {
			return p, languages.Refuse(2, "%s needs a value", a)
		}
		stands = stands || target
		p.flags = append(p.flags, t.Args[i:i+more+1]...)
		i += more
	}
	if !stands {
		return p, languages.Refuse(2, "nothing to run: name %s", targets)
	}
	return p, nil
}

// isInterpreter reports whether a script's first line names Node.
func isInterpreter(command string) bool {
	return interpreterName().MatchString(filepath.Base(command))
}

var interpreterName = pattern.Later(`^(node|nodejs)[0-9]*$`)

func check(t languages.Target) error {
	p, err := splitArgs(t)
	if err != nil || p.path == "" || p.path == "-" {
		return err
	}
	for _, f := range p.flags {
		if standsForTarget(f) {
			return nil // what follows is an argument
		}
	}
	path := p.path
	info, err := os.Stat(path)
	for _, ending := range []string{".js", ".json", ".node"} { // as node does: a folder is what it takes last
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() && !strings.HasSuffix(path, "/") {
			if file, e := os.Stat(path + ending); e == nil && !file.IsDir() {
				info, err = file, nil
			}
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return languages.Refuse(127, "%s: no such script", path)
	case err != nil:
		return languages.Refuse(126, "%s: %v", path, errors.Unwrap(err))
	case info.IsDir():
		for _, main := range []string{"package.json", "index.js"} {
			if _, err := os.Stat(filepath.Join(path, main)); err == nil {
				return nil
			}
		}
		return languages.Refuse(126, "%s: is a directory without an index.js or a package.json; name the script in it",
			path)
	}
	return nil
}

// Versions of Node: cg refuses those before the oldest, and is tested up to the newest.
const (
	oldestMajor, oldestMinor = 18, 19 // module.register
	newestMajor              = 24
)

// findNode finds the node that the user's shell would run, and its version.
func findNode(name string) (path, version string, err error) {
	names := []string{name}
	if name == "" {
		names = []string{"node", "nodejs"}
	}
	for _, n := range names {
		if path, err = exec.LookPath(n); err == nil {
			break
		}
	}
	if err != nil {
		return "", "", languages.Refuse(127, "%s: not found: install Node 18.19 or later, or name one with --node PATH",
			names[0])
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	ask := exec.Command(path, "--version")
	ask.Env = withoutOptions()
	out, err := ask.Output()
	version = strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
	major, minor := 0, 0
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || n != 2 {
		return "", "", languages.Refuse(126, "%s: does not tell its version as Node does", path)
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return "", "", languages.Refuse(126, "%s is Node %s; cg needs %d.%d or later (choose another with --node PATH)",
			path, version, oldestMajor, oldestMinor)
	}
	return path, version, nil
}

// withoutOptions is the environment without flags for Node in it.
func withoutOptions() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "NODE_OPTIONS=") })
}

// untested says why this Node may behave in ways that nobody has tried with cg, "" for one that is
// tested.
func untested(version string) string {
	major := 0
	if fmt.Sscanf(version, "%d", &major); major > newestMajor {
		return fmt.Sprintf("Node %s is newer than %d, the newest that cg is tested with", version, newestMajor)
	}
	return ""
}

// launch starts the program exactly as the user would, node TARGET ARGS; what is cg's comes
// through NODE_OPTIONS and CG_RUN.
func launch(t languages.Target, s languages.Setup) (languages.Command, error) {
	p, err := splitArgs(t)
	if err != nil {
		return languages.Command{}, err
	}
	path, version, err := findNode(t.Interpreter)
	if err != nil {
		return languages.Command{}, err
	}
	command := languages.Command{Args: append([]string{path}, t.Args...), Version: version, Untested: untested(version)}
	if s.OwnCheckpoints {
		return command, nil
	}
	if command.Uninstrumented = forbidden(p.flags); command.Uninstrumented != "" {
		return command, nil
	}
	addon, reason := s.Native.Path, s.Native.Reason
	if slices.Contains(allFlags(p.flags), noAddons) {
		addon, reason = "", noAddons+" keeps cg's addon out of Node"
	}
	here, err := runtimes.Unpack("node", s.Cache, s.Dir)
	if err != nil {
		return languages.Command{}, err
	}
	run, off := filepath.Join(s.Dir, "run"), filepath.Join(s.Dir, "off")
	entry, foreign := "", ""
	if s.Coarse {
		entry = "1"
	}
	if s.Foreign {
		foreign = "1"
	}
	cost := usualCosts
	if addon != "" {
		cost = costsOf(path, version, here, s)
	}
	files, _ := s.Cache.Sub("node") // else nothing is kept
	var b strings.Builder
	for _, kv := range [][2]string{{"channel", s.Channel}, {"server", s.Server}, {"native", addon},
		{"reason", reason}, {"call", fmt.Sprint(cost.Call)}, {"counted", fmt.Sprint(cost.Counted)}, {"entry", entry}, {"foreign", foreign}, {"off", off},
		{"kept", files.Dir}, {"key", s.PlanKey}} {
		fmt.Fprintf(&b, "%s=%s\n", kv[0], kv[1])
	}
	if err := os.WriteFile(run, []byte(b.String()), 0o600); err != nil {
		return languages.Command{}, err
	}
	options := "--require " + quoted(filepath.Join(here, "preload.cjs"))
	if old := os.Getenv("NODE_OPTIONS"); old != "" {
		options += " " + old
	}
	command.Env = append([]string{"NODE_OPTIONS=" + options, "CG_RUN=" + run},
		runtimes.CGuests(context.Background(), s.Cache, s.Dir, s.Channel, "napi_create_function")...)
	k := keeper{cache: files, key: s.PlanKey}
	command.Keep = k.keep
	command.Ended = func(int) string {
		k.end()
		why, _ := os.ReadFile(off) // which is not there where all went well
		return strings.TrimSpace(string(why))
	}
	return command, nil
}

// noAddons keeps all addons out of Node.
const noAddons = "--no-addons"

// allFlags are those of the command line and of the environment.
func allFlags(flags []string) []string {
	return slices.Concat(flags, strings.Fields(os.Getenv("NODE_OPTIONS")))
}

// forbidden is why a Node that is started so can have no checkpoints, "" if it can.
func forbidden(flags []string) string {
	all := allFlags(flags)
	for _, f := range all {
		switch f {
		case "--permission", "--experimental-permission":
			if !slices.Contains(all, "--allow-addons") {
				return f + " without --allow-addons keeps cg's addon out of Node"
			}
		}
	}
	return ""
}

// quoted is a path as NODE_OPTIONS takes it.
func quoted(path string) string {
	if !strings.ContainsAny(path, ` "\`) {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// sourceFiles lists a script, or the source files below a folder.
func sourceFiles(t languages.Target) ([]string, error) {
	p, err := splitArgs(t)
	if err != nil {
		return nil, err
	}
	if p.path == "" || p.path == "-" {
		return nil, languages.Refuse(2, "analyze reads files: name a script or a directory")
	}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, languages.Refuse(1, "%s: no such file or directory", p.path)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{p.path}, nil
	}
	var files []string
	for _, ending := range extensions {
		more, err := languages.Sources("JavaScript or TypeScript", p.path, ending, "node_modules")
		if err != nil && !errors.As(err, new(*languages.Error)) {
			return nil, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return nil, languages.Refuse(1, "%s: no JavaScript or TypeScript files in it", p.path)
	}
	slices.Sort(files)
	return files, nil
}

package golang

import (
	"fmt"
	"slices"
	"strings"

	"cg/languages"
)

// arguments are the parts of a command line.
type arguments struct {
	test     bool
	build    []string // flags of go build, without overlays
	listed   []string // those of them that go list takes, too
	gcflags  []string // their values of -gcflags
	overlay  string   // the user's own
	names    []string // files or packages
	args     []string // the program's, or all that go test gets, without overlays
	counted  bool     // go test: -count is given
	coverage bool     // coverage is asked for
}

// Flags of the go command (go help build, go help test, go help testflag): those
// without a value and those with one.
var (
	buildSwitches = []string{"a", "asan", "cover", "linkshared", "modcacherw", "msan", "n", "race", "trimpath", "v",
		"work", "x", "json", "buildvcs"}
	buildFlags = []string{"C", "asmflags", "buildmode", "compiler", "covermode", "coverpkg", "exec", "gccgoflags",
		"gcflags", "installsuffix", "ldflags", "mod", "modfile", "o", "overlay", "p", "pgo", "pkgdir", "tags",
		"toolexec"}
	testSwitches = []string{"artifacts", "benchmem", "c", "failfast", "fullpath", "i", "short"}
	testFlags    = []string{"bench", "benchtime", "blockprofile", "blockprofilerate", "count", "coverprofile", "cpu",
		"cpuprofile", "fuzz", "fuzzminimizetime", "fuzztime", "list", "memprofile", "memprofilerate", "mutexprofile",
		"mutexprofilefraction", "outputdir", "parallel", "run", "shuffle", "skip", "timeout", "trace", "vet"}
	// What go list does not take, or what would change only what it prints.
	notForList = []string{"a", "cover", "covermode", "coverpkg", "exec", "gcflags", "json", "n", "o", "v", "work", "x"}
)

// parseFlag parses a flag of the go command. more is how many of the arguments behind it
// are its value; ok is false if the go command has no such flag.
func parseFlag(a string, test bool) (name, value string, more int, ok bool) {
	if len(a) < 2 || a[0] != '-' {
		return "", "", 0, false
	}
	name = strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
	name, value, given := strings.Cut(name, "=")
	name = strings.TrimPrefix(name, "test.")
	switch {
	case slices.Contains(buildSwitches, name), test && slices.Contains(testSwitches, name):
		return name, value, 0, true
	case slices.Contains(buildFlags, name), test && slices.Contains(testFlags, name):
		if !given {
			more = 1
		}
		return name, value, more, true
	}
	return name, "", 0, false
}

// flagBeforeTarget are the flags that may stand before the target, as behind go run.
func flagBeforeTarget(a string) (more int, target, ok bool) {
	_, _, more, ok = parseFlag(a, false)
	return more, false, ok
}

// targets is what a target can be.
const (
	targets    = "Go files, a package, or test and packages"
	targetHelp = "name " + targets
)

// takeFlag notes a flag of go build.
func (p *arguments) takeFlag(name, value string, words []string) error {
	refused := map[string]string{
		"C":    "-C: change the folder before (cd)",
		"n":    "-n: nothing would run",
		"o":    "-o: the program is built into cg's own folder; go build -o makes one without checkpoints",
		"exec": "-exec: the program is run as it is; measure what you would name there",
	}
	if !p.test {
		refused["json"] = "-json: go test has it; what go build says is shown as it is"
	}
	if why := refused[name]; why != "" && !(p.test && name == "exec") {
		return languages.Refuse(2, "%s", why)
	}
	if name == "buildmode" && !slices.Contains([]string{"default", "exe", "pie"}, value) {
		return languages.Refuse(2, "-buildmode=%s: nothing that runs by itself", value)
	}
	switch name {
	case "overlay":
		p.overlay = value
		return nil
	case "cover", "covermode", "coverpkg":
		p.coverage = true
	case "gcflags":
		p.gcflags = append(p.gcflags, value)
	}
	if !slices.Contains(notForList, name) {
		p.listed = append(p.listed, words...)
	}
	p.build = append(p.build, words...)
	return nil
}

// firstWord finds the first argument that is no flag of go build, and no value of one.
func firstWord(args []string) (at int, word string) {
	for at := 0; at < len(args); at++ {
		_, _, more, is := parseFlag(args[at], false)
		if !is {
			return at, args[at]
		}
		at += more
	}
	return len(args), ""
}

// parseArguments parses a command line.
func parseArguments(t languages.Target) (arguments, error) {
	var p arguments
	args := t.Args
	given, err := splitWords(t.Flags["build-flags"])
	if err != nil {
		return p, languages.Refuse(2, "--build-flags: %v", err)
	}
	switch at, word := firstWord(args); {
	case word == "test":
		p.test = true
	case word == "run" && at+1 < len(args): // go run, which is what cg does
		args = slices.Delete(slices.Clone(args), at, at+1)
	}
	for i := 0; i < len(given); i++ {
		name, value, more, ok := parseFlag(given[i], false)
		if !ok {
			return p, languages.Refuse(2, "--build-flags: %q is no flag of go build", given[i])
		}
		words := given[i : i+1]
		if more > 0 {
			if i++; i == len(given) {
				return p, languages.Refuse(2, "--build-flags: %s needs a value", given[i-1])
			}
			words, value = given[i-1:i+1], given[i]
		}
		if err := p.takeFlag(name, value, words); err != nil {
			return p, err
		}
	}
	i := 0
	for ; i < len(args); i++ { // flags before the target
		name, value, more, ok := parseFlag(args[i], false)
		if !ok {
			break
		}
		if i+more >= len(args) {
			return p, languages.Refuse(2, "%s needs a value", args[i])
		}
		if more > 0 {
			value = args[i+1]
		}
		if err := p.takeFlag(name, value, args[i:i+1+more]); err != nil {
			return p, err
		}
		i += more
	}
	if i == len(args) {
		return p, languages.Refuse(2, "nothing to run: %s", targetHelp)
	}
	if p.test {
		return p, p.splitTest(args[i+1:])
	}
	if strings.HasPrefix(args[i], "-") {
		return p, languages.Refuse(2, "%q is no flag of go build; %s", args[i], targetHelp)
	}
	for ; i < len(args) && strings.HasSuffix(args[i], ".go"); i++ { // as go run takes them
		p.names = append(p.names, args[i])
	}
	if len(p.names) == 0 {
		p.names, i = args[i:i+1], i+1
	}
	p.args = args[i:]
	return p, nil
}

// splitTest finds the packages and the build flags among what go test gets (go
// help test): packages stand in one row, before any flag that go does not know.
func (p *arguments) splitTest(args []string) error {
	p.args = append(p.args, p.build...)
	packages := true
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" || a == "-args" || a == "--args" {
			p.args = append(p.args, args[i:]...)
			break
		}
		if !strings.HasPrefix(a, "-") {
			p.args = append(p.args, a)
			if packages {
				p.names = append(p.names, a)
			}
			continue
		}
		if len(p.names) > 0 {
			packages = false
		}
		name, value, more, ok := parseFlag(a, true)
		if !ok {
			packages = false
			p.args = append(p.args, a)
			continue
		}
		if i+more >= len(args) {
			return languages.Refuse(2, "go test: %s needs a value", a)
		}
		words := args[i : i+1+more]
		if more > 0 {
			value = args[i+1]
		}
		i += more
		switch {
		case name == "c":
			return languages.Refuse(2, "go test -c: nothing would run; leave it out")
		case name == "count":
			p.counted = true
		case name == "coverprofile":
			p.coverage = true
		}
		if name != "overlay" {
			p.args = append(p.args, words...)
		}
		if slices.Contains(buildSwitches, name) || slices.Contains(buildFlags, name) {
			if err := p.takeFlag(name, value, words); err != nil {
				return err
			}
		}
	}
	if len(p.names) == 0 {
		p.names = []string{"."}
	}
	return nil
}

// splitWords splits flags at spaces; what stands in quotes is one word, as in
// GOFLAGS and -ldflags.
func splitWords(s string) ([]string, error) {
	var words []string
	word, in, quote := "", false, rune(0)
	for _, c := range s {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word += string(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				words, word, in = append(words, word), "", false
			}
		default:
			word, in = word+string(c), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed: %s", s)
	}
	if in {
		words = append(words, word)
	}
	return words, nil
}

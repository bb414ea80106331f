package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cg/languages"
	"cg/runtimes"
)

// What is the program besides its own files.
func TestProgram(t *testing.T) {
	dir := write(t, map[string]string{
		"bin/tool": "#!/usr/bin/python3\nimport sys\nfrom tool._internal.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n",
		"bin/dist": "#!/usr/bin/python3\nimport sys\nsys.exit(load_entry_point('Some-Dist==1', 'console_scripts', 'x')())\n",
		"bin/none": "from tool import main\nmain()\n", "bin/pytest": "import sys\nfrom pytest import console_main\nsys.exit(console_main())\n",
		"lib/python3.9/site-packages/tool/run.py": "", "lib/python3.9/json/tool.py": "", "lib/python3.9/this.py": "",
	})
	for _, c := range []struct{ args, want string }{
		{"-m black.cli", ":black:"}, {"-mjson.tool", ":json:"}, {"-m pytest", ""}, {"-m unittest", ""}, {"-c pass", ""},
		{"-", ""}, {"bin/tool", ":tool:"}, {"bin/dist", ":Some_Dist:some_dist:"}, {"bin/none", ""}, {"bin/pytest", ""},
		{"bin/missing", ""}, {"lib/python3.9/site-packages/tool/run.py", ":tool:"}, {"lib/python3.9/json/tool.py", ":json:"},
		{"lib/python3.9/this.py", ":this:"},
	} {
		args := []string{c.args}
		if c.args[0] == 'b' || c.args[0] == 'l' {
			args[0] = filepath.Join(dir, c.args)
		} else if len(c.args) > 2 && c.args[2] == ' ' {
			args = []string{c.args[:2], c.args[3:]}
		}
		p, err := splitArgs(languages.Target{Args: args})
		if got := p.program(); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.args, got, err, c.want)
		}
	}
	for want, globs := range map[string][]string{"": {"f", "C.m"}, "/": {"/a/*", "*/lib/*"}, "/a/:/b/x.py": {"/a/*", "f", "/b/x.py"}} {
		if got := beginnings(globs); got != want {
			t.Errorf("%v: %q, want %q", globs, got, want)
		}
	}
}

// The names of installed packages are globs of their files.
func TestPackages(t *testing.T) {
	dir := write(t, map[string]string{"site-packages/tool/sub/x.py": "", "site-packages/one.py": ""})
	site := filepath.Join(dir, "site-packages")
	t.Setenv("PYTHONPATH", site)
	for _, python := range interpreters(t) {
		got, err := packages(languages.Target{Interpreter: python}, []string{"tool", "one", "tool.sub", "C.m", "*x*"},
			runtimes.Cache{Dir: cacheDir})
		want := []string{site + "/tool/*", site + "/one.py", site + "/tool/sub/*", "C.m", "*x*"}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, %v", got, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q, want %q", got[i], want[i])
			}
		}
	}
}

// The suites' table has tests without a name.
func TestOutcomesWithoutNames(t *testing.T) {
	dir := write(t, map[string]string{
		"plain.xml": "<t><testcase name='a.b'/><testcase/></t>",
		"woven.xml": "<t><testcase name='a.b'/><testcase><failure>no</failure></testcase></t>", "allow": "",
	})
	tool, err := filepath.Abs("../../testdata/corpus/outcomes.py")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(byDefault(t), tool, "differ", "plain.xml", "woven.xml")
	run.Dir, run.Stderr = dir, os.Stderr
	if out, err := run.Output(); err != nil || string(out) != "(without a name)\n" {
		t.Errorf("%q, %v", out, err)
	}
	run = exec.Command(byDefault(t), tool, "table", "allow", "plain.xml", "woven.xml")
	run.Dir = dir
	if out, err := run.Output(); err == nil {
		t.Errorf("a test that fails only with checkpoints is no failure:\n%s", out)
	}
}

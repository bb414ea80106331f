package version

import (
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	_ "cg/languages/all"
	"cg/report"
	"cg/runtimes"
)

func TestFill(t *testing.T) {
	set := func(kv ...string) (all []debug.BuildSetting) {
		for i := 0; i < len(kv); i += 2 {
			all = append(all, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return all
	}
	module := func(path, version string, replaced *debug.Module) *debug.Module {
		return &debug.Module{Path: path, Version: version, Replace: replaced}
	}
	for _, test := range []struct {
		what            string
		built           debug.BuildInfo
		built_, grammar string
		json            string
	}{
		{"nothing recorded", debug.BuildInfo{}, "?", "?", `"commit":null,"commit_time":null,"modified":null`},
		{
			"a clean commit",
			debug.BuildInfo{
				Settings: set("-buildmode", "exe", "vcs.revision", "abc", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false"),
				Deps:     []*debug.Module{module("x/y", "v1", nil), module(grammars, "v0.1", nil)},
			},
			"abc of 2026-01-02T03:04:05Z", grammars + " v0.1",
			`"commit":"abc","commit_time":"2026-01-02T03:04:05Z","modified":false`,
		},
		{
			"changed files, another module in its place",
			debug.BuildInfo{
				Settings: set("vcs.revision", "abc", "vcs.modified", "true"),
				Deps:     []*debug.Module{module(grammars, "v0.1", module("fork/sitter", "v9", nil))},
			},
			"abc, modified", "fork/sitter v9", `"commit":"abc","commit_time":null,"modified":true`,
		},
	} {
		var i Info
		i.fill(&test.built)
		b, err := json.Marshal(i)
		if i.Built() != test.built_ || i.Grammars() != test.grammar || err != nil || !strings.Contains(string(b), test.json) {
			t.Errorf("%s: %q, %q, %s, %v", test.what, i.Built(), i.Grammars(), b, err)
		}
	}
}

// The linker's commit is for builds that see no repository.
func TestFillFromTheLinker(t *testing.T) {
	commit, commitTime, modified = "abc", "2026-01-02T03:04:05Z", "false"
	t.Cleanup(func() { commit, commitTime, modified = "", "", "" })
	var i Info
	i.fill(&debug.BuildInfo{})
	if i.Built() != "abc of 2026-01-02T03:04:05Z" || i.Modified == nil || *i.Modified {
		t.Errorf("%+v", i)
	}
	i = Info{}
	i.fill(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "def"}}})
	if *i.Commit != "def" || i.CommitTime != nil {
		t.Errorf("%s, and the repository says def", i.Built())
	}
}

// A cg knows its own runtimes, languages and forms, and writes what it reads.
func TestOf(t *testing.T) {
	i, err := Of()
	if err != nil {
		t.Fatal(err)
	}
	if i.Version != Cg || len(i.Runtimes["native"]) != 16 || len(i.Languages) < 3 {
		t.Errorf("%+v", i)
	}
	for _, l := range i.Languages {
		if l.PlanVersion == "" {
			t.Errorf("%s has no version of its plans", l.Name)
		}
	}
	for _, f := range i.Formats {
		if !slices.Contains(f.Reads, f.Writes) {
			t.Errorf("%+v", f)
		}
	}
	if d := i.Formats[slices.IndexFunc(i.Formats, func(f Format) bool { return f.Name == "documents" })]; d.Writes != report.SchemaVersion {
		t.Errorf("%+v", d)
	}
}

// The packages of cg sdk have cg's version.
func TestPackagesHaveTheVersion(t *testing.T) {
	for name, want := range map[string]string{
		"golang/_sdk/codegreen.go":                      `const Version = "` + Cg + `"`,
		"java/sdk/pom.xml":                              "<version>" + Cg + "</version>",
		"java/sdk/jmh/pom.xml":                          "<version>" + Cg + "</version>",
		"java/sdk/junit/pom.xml":                        "<version>" + Cg + "</version>",
		"java/sdk/opentelemetry/pom.xml":                "<version>" + Cg + "</version>",
		"java/sdk/src/main/java/codegreen/Session.java": `String VERSION = "` + Cg + `"`,
		"python/sdk/codegreen/__init__.py":              `__version__ = "` + Cg + `"`,
		"node/sdk/package.json":                         `"version": "` + Cg + `"`,
		"python/sdk/pyproject.toml":                     `version = "` + Cg + `"`,
	} {
		b, err := runtimes.Files.ReadFile(name)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("runtimes/%s does not have %s: %v", name, want, err)
		}
	}
}

func TestMaterials(t *testing.T) {
	b := materials(&debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "git.sr.ht/~sbinet/gg", Version: "v0.6.0"},
		{Path: "a.b/c", Version: "v1.0.0+incompatible", Replace: &debug.Module{Path: "d.e/f", Version: "v2"}},
	}})
	var got []string
	for _, c := range b.Components {
		got = append(got, c.PURL)
	}
	want := []string{"pkg:golang/stdlib@1.26.8", "pkg:golang/git.sr.ht/~sbinet/gg@v0.6.0", "pkg:golang/d.e/f@v2"}
	if !slices.Equal(got, want) || b.Metadata.Component.Version != Cg {
		t.Errorf("%q", got)
	}
}

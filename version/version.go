// Package version tells which cg this is: its version, what it was built from, and the versions
// of what it writes and reads.
//
// It takes what Go's linker put into the program and the constants of the rooms. It returns an
// Info for people and for programs. What the build did not record is unknown (null).
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"cg/checkpoint"
	"cg/events"
	"cg/languages"
	"cg/pmsampling/cgpm"
	"cg/ranks"
	"cg/report"
	"cg/runtimes"
	"cg/runtimes/sdk/spec"
)

// Cg is the version of cg (semver.org).
const Cg = "0.1.0"

// The commit of a build that sees no repository, such as that of a package: the linker sets
// them (-X), with values as Go's linker records them.
var commit, commitTime, modified string

// Info is which cg this is.
type Info struct {
	Version string `json:"version"`
	// Commit is the revision that was built, CommitTime its time (RFC 3339). Modified says that
	// files differed from it. All three are null where the build did not see a repository, as with
	// -buildvcs=false.
	Commit     *string `json:"commit"`
	CommitTime *string `json:"commit_time"`
	Modified   *bool   `json:"modified"`
	Go         string  `json:"go_version"`
	Platform   string  `json:"platform"` // GOOS/GOARCH
	// Runtimes are digests of what rides in programs, by folder: native is the C library.
	Runtimes map[string]string `json:"runtimes"`
	// TreeSitter is the module with tree-sitter and its grammars, null where the build did not
	// record its modules.
	TreeSitter *Module    `json:"tree_sitter"`
	Languages  []Language `json:"languages"`
	Formats    []Format   `json:"formats"`
}

// Module is a Go module that cg was built with.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Language is one that cg instruments. PlanVersion changes with where its checkpoints go.
type Language struct {
	Name        string `json:"name"`
	PlanVersion string `json:"plan_version"`
}

// Format is a form in which cg keeps or passes on data, with the version that it writes and all
// that it reads.
type Format struct {
	Name   string   `json:"name"`
	Writes string   `json:"writes"`
	Reads  []string `json:"reads"`
}

// grammars is the module with tree-sitter and the grammars.
const grammars = "github.com/smacker/go-tree-sitter"

// Of is the running cg. The error is that of an embedded file that cannot be read.
func Of() (Info, error) {
	i := Info{Version: Cg, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Runtimes: map[string]string{}, Formats: Formats()}
	if built, ok := debug.ReadBuildInfo(); ok {
		i.fill(built)
	}
	for folder := range runtimes.Files {
		digest, err := runtimes.Digest(folder)
		if err != nil {
			return i, err
		}
		i.Runtimes[folder] = digest
	}
	for _, l := range languages.All() {
		i.Languages = append(i.Languages, Language{l.Name, l.PlanVersion()})
	}
	return i, nil
}

// fill takes what the build recorded (runtime/debug.BuildSetting).
func (i *Info) fill(built *debug.BuildInfo) {
	settings := map[string]*string{"vcs.revision": nil, "vcs.time": nil, "vcs.modified": nil}
	for n, s := range built.Settings {
		if _, wanted := settings[s.Key]; wanted {
			settings[s.Key] = &built.Settings[n].Value
		}
	}
	if settings["vcs.revision"] == nil && commit != "" {
		settings = map[string]*string{"vcs.revision": &commit, "vcs.time": &commitTime, "vcs.modified": &modified}
	}
	i.Commit, i.CommitTime = settings["vcs.revision"], settings["vcs.time"]
	if m := settings["vcs.modified"]; m != nil {
		modified := *m == "true"
		i.Modified = &modified
	}
	for _, m := range built.Deps {
		if m.Path != grammars {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		i.TreeSitter = &Module{m.Path, m.Version}
	}
}

// Formats are the forms that have a version, by name.
func Formats() []Format {
	one := func(name string, n int) Format {
		v := strconv.Itoa(n)
		return Format{name, v, []string{v}}
	}
	all := []Format{
		{"documents", report.SchemaVersion, report.SchemaVersions()},
		one("sample ring", spec.RingVersion),
		one("checkpoint channel", checkpoint.Version),
		one("event log", events.Version),
		one("folder of ranks", ranks.Version),
		one("PM samples", cgpm.Version),
	}
	slices.SortFunc(all, func(a, b Format) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Built is the commit for people, "?" where it is not known.
func (i Info) Built() string {
	if i.Commit == nil {
		return "?"
	}
	text := *i.Commit
	if i.CommitTime != nil {
		text += " of " + *i.CommitTime
	}
	if i.Modified != nil && *i.Modified {
		text += ", modified"
	}
	return text
}

// Grammars is the module with the grammars for people, "?" where it is not known.
func (i Info) Grammars() string {
	if i.TreeSitter == nil {
		return "?"
	}
	return i.TreeSitter.Path + " " + i.TreeSitter.Version
}

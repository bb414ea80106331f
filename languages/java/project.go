package java

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

//go:embed project.go rewrite.go
var rewriteSources embed.FS

// rewriteVersion is that of what these files make of a plan.
var rewriteVersion = languages.SourceVersion(rewriteSources)

// rewrittenSource is what was made of a source of a project.
type rewrittenSource struct {
	Digest string   // of the text
	Key    string   // of how it was rewritten
	First  int      // number of its first site
	Room   int      // numbers from there that are its own
	Count  int      // of its sites
	Lines  string   // its sites
	Skip   string   // why it is as it was, "" if it is not
	Left   []string // functions that the compiler refused with checkpoints: "name:line"
	Off    string   // why the compiler refused the file with checkpoints
	// Unplaced are the functions whose code is not told apart with a granularity, as wish has them.
	Unplaced    map[string]string      `json:",omitempty"`
	Granularity instrument.Granularity `json:",omitempty"`
}

// project is a project that is built in cg's own folder.
type project struct {
	given    string // the folder as the user named it
	named    string // absolute, as it is named
	mirror   *mirror
	setup    languages.Setup
	started  time.Time
	messages *messageFilter
	release  func()
}

const projectUsage = "cg measure java --project DIR -- mvn -q test"

// ownsProject reports whether a folder has Java sources.
func ownsProject(folder string) bool {
	_, err := languages.Sources("Java", folder, ".java")
	return err == nil
}

// checkProject refuses a project that cannot be built, or a build that cannot be started.
func checkProject(t languages.Target) error {
	dir := t.Flags["project"]
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return languages.Refuse(2, "--project needs a folder: %s", projectUsage)
	case errors.Is(err, fs.ErrNotExist):
		return languages.Refuse(127, "--project: %s: no such folder", dir)
	case err != nil:
		return languages.Refuse(126, "--project: %s: %v", dir, errors.Unwrap(err))
	case !info.IsDir():
		return languages.Refuse(2, "--project: %s is no folder: name the one that the build is started in", dir)
	case len(t.Args) == 0:
		return languages.Refuse(2, "--project: nothing to run: name the command that builds, such as %s", projectUsage)
	}
	for _, flag := range []string{"main", "sources", "encoding"} {
		if t.Flags[flag] != "" {
			return languages.Refuse(2, "--%s does not go with --project: the build says it", flag)
		}
	}
	if err := publishes(t.Args); err != nil {
		return err
	}
	if !strings.Contains(t.Args[0], "/") {
		if _, err := exec.LookPath(t.Args[0]); err != nil {
			return languages.Refuse(127,
				"%s: command not found: install it, or name it with its path (./mvnw, ./gradlew)", t.Args[0])
		}
	}
	return nil
}

// publishes refuses goals that would give away classes with checkpoints.
func publishes(args []string) error {
	goals := []string{"install", "deploy"}
	switch strings.TrimSuffix(filepath.Base(args[0]), "w") {
	case "mvn", "mvnd":
		for _, a := range args {
			if strings.HasPrefix(a, "-Dmaven.repo.local=") {
				goals = []string{"deploy"}
			}
		}
	case "gradle":
		goals = []string{"install", "publish", "publishToMavenLocal"}
	default:
		return nil
	}
	for _, a := range args[1:] {
		if slices.Contains(goals, a[strings.LastIndexByte(a, ':')+1:]) {
			return languages.Refuse(2,
				"%s %s would hand out classes with checkpoints: end the build before that (verify, build)", args[0], a)
		}
	}
	return nil
}

// launchProject copies the project to cg's own folder, with checkpoints in its
// sources, and starts the build there.
func launchProject(t languages.Target, s languages.Setup) (_ languages.Command, err error) {
	ctx := context.Background()
	k, err := findJDK(t.Interpreter)
	if err != nil {
		return languages.Command{}, err
	}
	jar, err := runtimes.Archive(ctx, k.javac, s.Cache, s.Dir)
	if err != nil {
		return languages.Command{}, err
	}
	p, err := openProject(t.Flags["project"], s)
	if err != nil {
		return languages.Command{}, err
	}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	if err := p.update(ctx); err != nil {
		return languages.Command{}, err
	}
	run, err := writeRun(s)
	if err != nil {
		return languages.Command{}, err
	}
	theirs := os.Getenv("JAVA_TOOL_OPTIONS")
	options := strings.TrimSpace(p.toMirror(theirs) + " " + toolOptions(k, jar, s))
	p.messages = newMessageFilter(p, options, theirs)
	command := languages.Command{
		Version: k.version, Dir: p.mirror.folder,
		Marks: p.messages.marks(), Change: p.messages.change, RunAgain: p.rebuild, Tests: p.testResults,
		Release: p.close,
	}
	for _, a := range t.Args {
		command.Args = append(command.Args, p.toMirror(a))
	}
	command.Env = append(p.environment(), "CG_RUN="+run, "JAVA_TOOL_OPTIONS="+options)
	command.Env = append(command.Env, runtimes.CGuests(ctx, s.Cache, s.Dir, s.Channel, "")...)
	if t.Interpreter != "" { // which the build is to take
		bin := filepath.Dir(k.javac)
		command.Env = append(command.Env, "JAVA_HOME="+filepath.Dir(bin),
			"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return command, nil
}

// openProject claims the mirror of a folder. The project holds it until release.
func openProject(given string, s languages.Setup) (*project, error) {
	p := &project{given: given, setup: s, started: time.Now()}
	var err error
	if p.named, err = filepath.Abs(p.given); err != nil {
		return nil, err
	}
	from, err := filepath.EvalSymlinks(p.named)
	if err != nil {
		return nil, languages.Refuse(126, "--project: %v", err)
	}
	projects, err := s.CacheFolder("projects")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(from))
	place, release, err := claim(projects, hex.EncodeToString(sum[:8]))
	if err != nil {
		return nil, err
	}
	if p.mirror, err = openMirror(from, place); err != nil {
		release()
		return nil, fmt.Errorf("%s: %w", place.Dir, err)
	}
	p.release = release
	for _, path := range []string{s.Cache.Dir, s.Dir} { // of cg, not of the project
		if real, err := filepath.EvalSymlinks(path); err == nil {
			p.mirror.excluded = append(p.mirror.excluded, real)
		}
	}
	return p, nil
}

// environment is what the build's environment has that the user's has not. Variables
// that name the project's folder name the mirror.
func (p *project) environment() (env []string) {
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "PATH", "OLDPWD", "TMPDIR", "JAVA_TOOL_OPTIONS", "PWD"}, name) ||
			strings.HasPrefix(name, "XDG_") {
			continue
		}
		if ours := p.toMirror(value); ours != value {
			env = append(env, name+"="+ours)
		}
	}
	// A daemon would outlive the run, and may have begun before it with another
	// environment; outcomes from a cache are no runs.
	gradle := "-Dorg.gradle.daemon=false -Dorg.gradle.caching=false"
	return append(env, "PWD="+p.mirror.folder,
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(p.mirror.folder), // the copy is in no repository
		"GRADLE_OPTS="+strings.TrimSpace(p.toMirror(os.Getenv("GRADLE_OPTS"))+" "+gradle))
}

// toolOptions are the options that every virtual machine of the build gets.
// The runtime is on the boot class path, for every class loader. More than that
// only newer ones take.
func toolOptions(k jdk, jar string, s languages.Setup) string {
	options := []string{"-Xbootclasspath/a:" + jar}
	if s.Native.Path == "" {
		options = append(options, "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED")
	}
	if k.feature >= 22 {
		options = append(options, "--enable-native-access=ALL-UNNAMED")
	}
	for i, o := range options {
		if strings.ContainsAny(o, " \t'\"") {
			options[i] = `"` + strings.ReplaceAll(o, `"`, `"'"'"`) + `"`
		}
	}
	return strings.Join(options, " ")
}

// toMirror puts the mirror's path where a text names the project's.
func (p *project) toMirror(text string) string {
	// The copy may lie in the project, where its path is not to be found again.
	const place = "\x00"
	for _, from := range []string{p.named, p.mirror.original} {
		text = replacePath(text, from, place)
	}
	return strings.ReplaceAll(text, place, p.mirror.folder)
}

// replacePath replaces a path where it stands whole or is followed by more of one.
func replacePath(text, from, to string) string {
	if from == "/" || from == to {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, from)
		if i < 0 {
			return b.String() + text
		}
		rest := text[i+len(from):]
		b.WriteString(text[:i])
		attached := i == 2 && text[0] == '-' && b.Len() == i // -f/a/pom.xml
		if inPath(rest, true) || i > 0 && inPath(text[i-1:], false) && !attached {
			b.WriteString(from)
		} else {
			b.WriteString(to)
		}
		text = rest
	}
}

// inPath reports whether a text continues the name of a file, or precedes a path.
func inPath(text string, behind bool) bool {
	if text == "" {
		return false
	}
	c := text[0]
	if behind && c == '.' && (len(text) == 1 || !inPath(text[1:], false)) {
		return false // the end of a sentence
	}
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		c >= 0x80
}

// userPath is what the user calls a file of the project.
func (p *project) userPath(rel string) string { return filepath.Join(p.given, rel) }

// update updates the mirror and numbers the sites.
func (p *project) update(ctx context.Context) error {
	m := p.mirror
	rels, err := m.update()
	if err != nil {
		return fmt.Errorf("copying %s: %w", p.given, err)
	}
	if len(rels) == 0 {
		return languages.Refuse(1, "%s: no Java sources in it", p.given)
	}
	for _, rel := range m.unreadable {
		p.setup.Skip(p.userPath(rel), "cannot be read, and is not part of the build")
	}
	works, err := p.prepareSources(rels)
	if err == nil {
		err = p.assignNumbers(works)
	}
	if err != nil {
		return err
	}
	for _, w := range works {
		if w.source == nil || w.plan == nil && w.text == nil {
			continue
		}
		if err := p.writeSource(w); err != nil {
			return fmt.Errorf("%s: %w", p.userPath(w.rel), err)
		}
	}
	if err := p.placeSites(works); err != nil {
		return err
	}
	if n := p.otherLanguages(); n > 0 {
		p.setup.Skip(p.given, fmt.Sprintf("%d files of Kotlin, Scala or Groovy are built as they are", n))
	}
	p.clearReports()
	return m.save()
}

// prepareSources plans the sources, several at a time. One that has gone, or may not be
// read, stays without a source and is listed.
func (p *project) prepareSources(rels []string) ([]*sourceWork, error) {
	works := make([]*sourceWork, len(rels))
	todo := make(chan *sourceWork)
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for w := range todo {
				w.err = p.prepareSource(w)
			}
		})
	}
	for i, rel := range rels {
		works[i] = &sourceWork{rel: rel}
		todo <- works[i]
	}
	close(todo)
	wait.Wait()
	for _, w := range works {
		if errors.Is(w.err, fs.ErrNotExist) || errors.Is(w.err, fs.ErrPermission) {
			p.setup.Skip(p.userPath(w.rel), "cannot be read, and is not part of the build")
			w.source = nil
			continue
		}
		if w.err != nil {
			return nil, fmt.Errorf("%s: %w", p.userPath(w.rel), w.err)
		}
	}
	return works, nil
}

// assignNumbers numbers the sites of all sources. Where edits over many runs have used
// the numbers up, it starts again from 1 and prepares what is to be written anew.
func (p *project) assignNumbers(works []*sourceWork) error {
	if p.numberSources(works) {
		return nil
	}
	p.mirror.Next = 1
	for _, w := range works {
		if w.source == nil {
			continue
		}
		w.source.First, w.source.Room = 0, 0
		if w.source.Count > 0 && w.plan == nil {
			w.forced = true
			if err := p.prepareSource(w); err != nil {
				return fmt.Errorf("%s: %w", p.userPath(w.rel), err)
			}
		}
	}
	if !p.numberSources(works) {
		return fmt.Errorf("%s has too many functions to tell apart: leave some out with --exclude", p.given)
	}
	return nil
}

// placeSites gives cg the sites of all sources at the numbers that they have.
func (p *project) placeSites(works []*sourceWork) error {
	if base, err := p.setup.TakeNumbers(p.mirror.Next - 1); err != nil || base != 0 {
		return fmt.Errorf("the numbers of the sites cannot be had: %d, %w", base, err)
	}
	for _, w := range works {
		if w.source == nil {
			continue
		}
		name := p.userPath(w.rel)
		if w.source.Skip != "" {
			p.setup.Skip(name, w.source.Skip)
		}
		if err := p.setup.PlaceSites(name, w.source.Lines, w.source.First); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// sourceWork is a source on its way into the mirror.
type sourceWork struct {
	rel    string
	theirs stamp
	text   []byte        // nil if nothing is to be written
	parsed *parsedSource // nil if it gets no checkpoints
	plan   *filePlan
	source *rewrittenSource // nil for one that is not there
	forced bool             // it is to be written whatever is there
	err    error
}

// prepareSource plans a source, unless what was made of it is still good.
func (p *project) prepareSource(w *sourceWork) error {
	info, err := os.Stat(filepath.Join(p.mirror.original, w.rel))
	if err != nil {
		return err
	}
	w.theirs = stampOf(info)
	key := p.setup.PlanKey + " " + rewriteVersion()[:12]
	before := p.mirror.Seen[w.rel]
	if before != nil && before.Source != nil && before.Theirs == w.theirs && before.Source.Key == key && !w.forced {
		if now, err := os.Lstat(filepath.Join(p.mirror.folder, w.rel)); err == nil && contentStamp(now) == before.Ours {
			w.source = before.Source
			return nil
		}
	}
	text, err := os.ReadFile(filepath.Join(p.mirror.original, w.rel))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	made := &rewrittenSource{Digest: hex.EncodeToString(sum[:12]), Key: key,
		Granularity: p.setup.Options.Granularity}
	if before != nil && before.Source != nil {
		made.First, made.Room = before.Source.First, before.Source.Room
		if before.Source.Digest == made.Digest {
			made.Left, made.Off = before.Source.Left, before.Source.Off
			if before.Source.Granularity == made.Granularity {
				made.Unplaced = before.Source.Unplaced
			}
		}
	}
	w.source, w.text, w.plan, w.parsed = made, text, nil, nil
	name := p.userPath(w.rel)
	o := p.setup.Options
	o.Entry = true
	switch {
	case !o.FileWanted(name, true):
		made.Skip = "left out by --exclude"
		return nil
	case made.Off != "":
		made.Skip = made.Off
		return nil
	}
	o.Exclude = append(slices.Clone(o.Exclude), made.Left...)
	j, err := parse(text)
	if err != nil {
		made.Skip = err.Error()
		return nil
	}
	w.parsed, w.plan = j, j.plan(o, wish{file: name, tests: true, unplaced: made.Unplaced})
	made.Count, made.Lines = len(w.plan.Sites), instrument.SiteLines(w.plan.Plan)
	for _, left := range made.Left {
		if i := strings.LastIndexByte(left, ':'); i > 0 {
			made.Lines += fmt.Sprintf("\nL\t%s\t%s\tleft alone: its code is too large with checkpoints", left[i+1:],
				left[:i])
		}
	}
	return nil
}

// numberSources gives each source the numbers that it has had, if they are enough.
func (p *project) numberSources(works []*sourceWork) bool {
	m := p.mirror
	for _, w := range works {
		s := w.source
		if s == nil || s.Count <= s.Room {
			continue
		}
		s.First, s.Room = m.Next, s.Count+s.Count/8+2 // some more to come
		m.Next += s.Room
	}
	return m.Next < int(checkpoint.OwnSite)
}

// writeSource puts a source into the mirror, unless it is there.
func (p *project) writeSource(w *sourceWork) error {
	m := p.mirror
	text := w.text
	if w.plan != nil {
		var err error
		if text, err = rewriteWithHelper(w.rel, w.parsed, w.plan, w.source.First); err != nil {
			return err
		}
	}
	to := filepath.Join(m.folder, w.rel)
	if now, err := os.Lstat(to); err == nil && now.Mode() == w.theirs.Mode && now.Size() == int64(len(text)) {
		if there, err := os.ReadFile(to); err == nil && string(there) == string(text) {
			return m.remember(w.rel, w.theirs, w.source)
		}
	}
	mtime := time.Now()
	if m.Seen[w.rel] == nil && len(text) == len(w.text) { // as it is
		mtime = time.Unix(0, w.theirs.Mtime)
	}
	err := m.replaceFile(to, w.theirs.Mode, mtime, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return m.remember(w.rel, w.theirs, w.source)
}

func (p *project) otherLanguages() int {
	n := 0
	for rel := range p.mirror.Seen {
		if slices.Contains([]string{".kt", ".scala", ".groovy"}, filepath.Ext(rel)) && !isResource(rel) {
			n++
		}
	}
	return n
}

func (p *project) close() { p.release() }

// rebuild gives way where the compiler has refused checkpoints, and says that the
// project is to be built again.
func (p *project) rebuild(status int) languages.Verdict {
	faults, verdict := p.messages.pending()
	if status == 0 {
		return verdict
	}
	var places []string
	unplaced := map[string]bool{} // now: what else is said of them may be of their places
	for _, f := range faults {
		seen := p.mirror.Seen[f.rel]
		if seen == nil || seen.Source == nil || seen.Source.Off != "" {
			continue
		}
		s := seen.Source
		name := functionAt(s.Lines, f.line)
		large := strings.HasPrefix(f.message, "code too large") && name != ""
		without := anyFunction
		if large {
			without = name
		}
		switch {
		case unplaced[f.rel+anyFunction], unplaced[f.rel+without]:
			continue
		case s.unplace(without, f.message):
			unplaced[f.rel+without] = true
			places = append(places, fmt.Sprintf("lines or blocks of %s:%d", p.userPath(f.rel), f.line))
		case large:
			if slices.Contains(s.Left, name) { // said of its body and of a part of it
				continue
			}
			s.Left = append(s.Left, name)
			places = append(places, fmt.Sprintf("%s:%d", p.userPath(f.rel), f.line))
		default:
			s.Off = "built without checkpoints: the compiler said of it: " + f.message
			places = append(places, p.userPath(f.rel))
		}
		s.Key = "" // to be made again
	}
	if len(places) == 0 {
		return verdict
	}
	if err := p.mirror.save(); err != nil {
		return verdict
	}
	return languages.Verdict{Why: fmt.Sprintf("the compiler may refuse checkpoints in %s: building again without them",
		strings.Join(places, ", "))}
}

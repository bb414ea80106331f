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

//go:embed text.go project.go
var javaRewriter embed.FS

// javaRewriteVersion is that of what these files make of a plan.
var javaRewriteVersion = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range []string{"text.go", "project.go"} {
		b, _ := javaRewriter.ReadFile(name) // which is embedded
		h.Write(b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
})

// javaSourced is what was made of a source of a project.
type javaSourced struct {
	Digest string   // of the text
	Key    string   // of how it was rewritten
	First  int      // number of its first site
	Room   int      // numbers from there that are its own
	Count  int      // of its sites
	Lines  string   // its sites
	Skip   string   // why it is as it was, "" if it is not
	Left   []string // functions that the compiler refused with checkpoints: "name:line"
	Off    string   // why the compiler refused the file with checkpoints
}

// javaProject is a project that is built in cg's own folder.
type javaProject struct {
	given   string // the folder as the user named it
	named   string // absolute, as it is named
	mirror  *mirror
	s       languages.Setup
	started time.Time
	words   *javaWords
	release func()
}

const javaProjectUse = "cg measure java --project DIR -- mvn -q test"

// checkProject refuses a project that cannot be built, or a build that cannot be started.
func checkProject(t languages.Target) error {
	dir := t.Flags["project"]
	info, err := os.Stat(dir)
	switch {
	case dir == "":
		return languages.Refuse(2, "--project needs a folder: %s", javaProjectUse)
	case errors.Is(err, fs.ErrNotExist):
		return languages.Refuse(127, "--project: %s: no such folder", dir)
	case err != nil:
		return languages.Refuse(126, "--project: %s: %v", dir, errors.Unwrap(err))
	case !info.IsDir():
		return languages.Refuse(2, "--project: %s is no folder: name the one that the build is started in", dir)
	case len(t.Args) == 0:
		return languages.Refuse(2, "--project: nothing to run: name the command that builds, such as %s", javaProjectUse)
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
			return languages.Refuse(127, "%s: command not found: install it, or name it with its path (./mvnw, ./gradlew)", t.Args[0])
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
			return languages.Refuse(2, "%s %s would hand out classes with checkpoints: end the build before that (verify, build)", args[0], a)
		}
	}
	return nil
}

// launchProject brings the project over to cg's own folder, with checkpoints in its
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
	p := &javaProject{given: t.Flags["project"], s: s, started: time.Now()}
	if p.named, err = filepath.Abs(p.given); err != nil {
		return languages.Command{}, err
	}
	from, err := filepath.EvalSymlinks(p.named)
	if err != nil {
		return languages.Command{}, languages.Refuse(126, "--project: %v", err)
	}
	projects, err := s.Kept("projects")
	if err != nil {
		return languages.Command{}, err
	}
	sum := sha256.Sum256([]byte(from))
	place, release, err := claim(projects, hex.EncodeToString(sum[:8]))
	if err != nil {
		return languages.Command{}, err
	}
	p.release = release
	defer func() {
		if err != nil {
			release()
		}
	}()
	if p.mirror, err = openMirror(from, place); err != nil {
		return languages.Command{}, fmt.Errorf("%s: %w", place.Dir, err)
	}
	for _, path := range []string{s.Cache.Dir, s.Dir} { // of cg, not of the project
		if real, err := filepath.EvalSymlinks(path); err == nil {
			p.mirror.apart = append(p.mirror.apart, real)
		}
	}
	if err := p.bring(ctx); err != nil {
		return languages.Command{}, err
	}
	run, err := writeRun(s)
	if err != nil {
		return languages.Command{}, err
	}
	options := javaToolOptions(k, jar, s)
	theirs := os.Getenv("JAVA_TOOL_OPTIONS")
	all := strings.TrimSpace(p.theirToOur(theirs) + " " + options) // those are cg's own paths
	p.words = newJavaWords(p, all, theirs)
	command := languages.Command{
		Version: k.version, Dir: p.mirror.to,
		Marks: p.words.marks(), Change: p.words.change, Again: p.again, Tests: p.tests, Done: p.done,
	}
	for _, a := range t.Args {
		command.Args = append(command.Args, p.theirToOur(a))
	}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "PATH", "OLDPWD", "TMPDIR", "JAVA_TOOL_OPTIONS", "PWD"}, name) || strings.HasPrefix(name, "XDG_") {
			continue
		}
		if ours := p.theirToOur(value); ours != value {
			command.Env = append(command.Env, name+"="+ours)
		}
	}
	command.Env = append(command.Env, "CG_RUN="+run, "PWD="+p.mirror.to, "JAVA_TOOL_OPTIONS="+all,
		"GIT_CEILING_DIRECTORIES="+place.Dir) // the copy is in no repository
	if t.Interpreter != "" { // which the build is to take
		bin := filepath.Dir(k.javac)
		command.Env = append(command.Env, "JAVA_HOME="+filepath.Dir(bin), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	// A daemon would outlive the run, and may have begun before it with another
	// environment; outcomes from a cache are no runs.
	options = "-Dorg.gradle.daemon=false -Dorg.gradle.caching=false"
	command.Env = append(command.Env, "GRADLE_OPTS="+strings.TrimSpace(p.theirToOur(os.Getenv("GRADLE_OPTS"))+" "+options))
	return command, nil
}

// javaToolOptions are the options that every virtual machine of the build gets.
// The runtime is on the boot class path, for every class loader. More than that
// only newer ones take.
func javaToolOptions(k jdk, jar string, s languages.Setup) string {
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

// theirToOur puts the mirror's path where a text names the project's.
func (p *javaProject) theirToOur(text string) string {
	// The copy may lie in the project, where its path is not to be found again.
	const place = "\x00"
	for _, from := range []string{p.named, p.mirror.from} {
		text = replacePath(text, from, place)
	}
	return strings.ReplaceAll(text, place, p.mirror.to)
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

// inPath reports whether a text goes on a name of a file, or before a path.
func inPath(text string, behind bool) bool {
	if text == "" {
		return false
	}
	c := text[0]
	if behind && c == '.' && (len(text) == 1 || !inPath(text[1:], false)) {
		return false // the end of a sentence
	}
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// shown is what the user calls a file of the project.
func (p *javaProject) shown(rel string) string { return filepath.Join(p.given, rel) }

// bring updates the mirror and numbers the sites.
func (p *javaProject) bring(ctx context.Context) error {
	m := p.mirror
	rels, err := m.update()
	if err != nil {
		return fmt.Errorf("copying %s: %w", p.given, err)
	}
	if len(rels) == 0 {
		return languages.Refuse(1, "%s: no Java sources in it", p.given)
	}
	for _, rel := range m.unread {
		p.s.Skip(p.shown(rel), "cannot be read, and is not part of the build")
	}
	works := make([]*javaWork, len(rels))
	todo := make(chan *javaWork)
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for w := range todo {
				w.err = p.prepare(w)
			}
		})
	}
	for i, rel := range rels {
		works[i] = &javaWork{rel: rel}
		todo <- works[i]
	}
	close(todo)
	wait.Wait()
	for _, w := range works {
		if errors.Is(w.err, fs.ErrNotExist) || errors.Is(w.err, fs.ErrPermission) {
			p.s.Skip(p.shown(w.rel), "cannot be read, and is not part of the build")
			w.source = nil
			continue
		}
		if w.err != nil {
			return fmt.Errorf("%s: %w", p.shown(w.rel), w.err)
		}
	}
	if !p.room(works) { // edits have scattered them: all anew
		m.Next = 1
		for _, w := range works {
			if w.source != nil {
				w.source.First, w.source.Room = 0, 0
				if w.source.Count > 0 && w.plan == nil {
					w.again = true
					if err := p.prepare(w); err != nil {
						return fmt.Errorf("%s: %w", p.shown(w.rel), err)
					}
				}
			}
		}
		if !p.room(works) {
			return fmt.Errorf("%s has too many functions to tell apart: leave some out with --exclude", p.given)
		}
	}
	for _, w := range works {
		if w.source == nil || w.plan == nil && w.text == nil {
			continue
		}
		if err := p.write(w); err != nil {
			return fmt.Errorf("%s: %w", p.shown(w.rel), err)
		}
	}
	if base, err := p.s.Give(m.Next - 1); err != nil || base != 0 {
		return fmt.Errorf("the numbers of the sites cannot be had: %d, %w", base, err)
	}
	for _, w := range works {
		if w.source == nil {
			continue
		}
		name := p.shown(w.rel)
		if w.source.Skip != "" {
			p.s.Skip(name, w.source.Skip)
		}
		if err := p.s.Place(name, w.source.Lines, w.source.First); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if n := p.otherLanguages(); n > 0 {
		p.s.Skip(p.given, fmt.Sprintf("%d files of Kotlin, Scala or Groovy are built as they are", n))
	}
	p.clearReports()
	return m.save()
}

// javaWork is a source on its way into the mirror.
type javaWork struct {
	rel    string
	theirs stamp
	text   []byte      // nil if nothing is to be written
	parsed *javaSource // nil if it gets no checkpoints
	plan   *instrument.Plan
	source *javaSourced // nil for one that is not there
	again  bool         // it is to be written whatever is there
	err    error
}

// prepare plans a source, unless what was made of it is still good.
func (p *javaProject) prepare(w *javaWork) error {
	info, err := os.Stat(filepath.Join(p.mirror.from, w.rel))
	if err != nil {
		return err
	}
	w.theirs = stampOf(info)
	key := p.s.Key + " " + javaRewriteVersion()
	before := p.mirror.Seen[w.rel]
	if before != nil && before.Source != nil && before.Theirs == w.theirs && before.Source.Key == key && !w.again {
		if now, err := os.Lstat(filepath.Join(p.mirror.to, w.rel)); err == nil && ourStamp(now) == before.Ours {
			w.source = before.Source
			return nil
		}
	}
	text, err := os.ReadFile(filepath.Join(p.mirror.from, w.rel))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	made := &javaSourced{Digest: hex.EncodeToString(sum[:12]), Key: key}
	if before != nil && before.Source != nil {
		made.First, made.Room = before.Source.First, before.Source.Room
		if before.Source.Digest == made.Digest {
			made.Left, made.Off = before.Source.Left, before.Source.Off
		}
	}
	w.source, w.text, w.plan, w.parsed = made, text, nil, nil
	name := p.shown(w.rel)
	o := p.s.Options
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
	j, err := parseJava(text)
	if err != nil {
		made.Skip = err.Error()
		return nil
	}
	w.parsed, w.plan = j, j.planned(o, true)
	made.Count, made.Lines = len(w.plan.Sites), instrument.SiteLines(w.plan)
	for _, left := range made.Left {
		if i := strings.LastIndexByte(left, ':'); i > 0 {
			made.Lines += fmt.Sprintf("\nL\t%s\t%s\tleft alone: its code is too large with checkpoints", left[i+1:], left[:i])
		}
	}
	return nil
}

// room gives each source the numbers that it has had, if they are enough.
func (p *javaProject) room(works []*javaWork) bool {
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

// write puts a source into the mirror, unless it is there.
func (p *javaProject) write(w *javaWork) error {
	m := p.mirror
	text := w.text
	if w.plan != nil {
		var err error
		if text, err = rewriteJavaAlone(w.rel, w.parsed, w.plan, w.source.First); err != nil {
			return err
		}
	}
	to := filepath.Join(m.to, w.rel)
	if now, err := os.Lstat(to); err == nil && now.Mode() == w.theirs.Mode && now.Size() == int64(len(text)) {
		if there, err := os.ReadFile(to); err == nil && string(there) == string(text) {
			return m.note(w.rel, w.theirs, w.source)
		}
	}
	mtime := time.Now()
	if m.Seen[w.rel] == nil && len(text) == len(w.text) { // as it is
		mtime = time.Unix(0, w.theirs.Mtime)
	}
	err := m.replace(to, w.theirs.Mode, mtime, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return m.note(w.rel, w.theirs, w.source)
}

func (p *javaProject) otherLanguages() int {
	n := 0
	for rel := range p.mirror.Seen {
		if slices.Contains([]string{".kt", ".scala", ".groovy"}, filepath.Ext(rel)) && !isResource(rel) {
			n++
		}
	}
	return n
}

func (p *javaProject) done() { p.release() }

// again gives way where the compiler has refused checkpoints, and says that the
// project is to be built again.
func (p *javaProject) again(status int) languages.Verdict {
	faults, verdict := p.words.ended()
	if status == 0 {
		return verdict
	}
	var places []string
	for _, f := range faults {
		seen := p.mirror.Seen[f.rel]
		if seen == nil || seen.Source == nil || seen.Source.Off != "" {
			continue
		}
		s := seen.Source
		switch name := functionAt(s.Lines, f.line); {
		case strings.HasPrefix(f.message, "code too large") && name != "":
			if slices.Contains(s.Left, name) { // said of its body and of a part of it
				continue
			}
			s.Left = append(s.Left, name)
			places = append(places, fmt.Sprintf("%s:%d", p.shown(f.rel), f.line))
		default:
			s.Off = "built without checkpoints: the compiler said of it: " + f.message
			places = append(places, p.shown(f.rel))
		}
		s.Key = "" // to be made again
	}
	if len(places) == 0 {
		return verdict
	}
	if err := p.mirror.save(); err != nil {
		return verdict
	}
	return languages.Verdict{Why: fmt.Sprintf("the compiler may refuse checkpoints in %s: building again without them", strings.Join(places, ", "))}
}

// functionAt names the innermost function of a line, as "name:line".
func functionAt(lines string, line int) string {
	found, size := "", 0
	for l := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(l, "\n"), "\t") // S kind line column end-line small name
		if len(f) != 7 || f[0] != "S" {
			continue
		}
		var from, to int
		fmt.Sscan(f[2], &from)
		fmt.Sscan(f[4], &to)
		if from <= line && line <= to && (found == "" || to-from < size) {
			found, size = fmt.Sprintf("%s:%d", f[6], from), to-from
		}
	}
	return found
}

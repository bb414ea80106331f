package java

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/pattern"
	"cg/runtimes"
)

// messagesEnding is that of what the compiler said of the classes beside it in the cache.
const messagesEnding = ".messages"

// launcherArguments are those that java gives the compiler for a single file (OpenJDK,
// com.sun.tools.javac.launcher; 19 brought the second line), and what makes it see no
// sources on the class path, as java does.
func (b *build) launcherArguments() []string {
	args := []string{"-Xdiags:verbose", "-sourcepath", "none"}
	if b.jdk.feature >= 19 {
		args = append(args, "-Xlint:deprecation", "-Xlint:unchecked", "-Xlint:-options")
	}
	encoding := ""
	for _, f := range slices.Concat(strings.Fields(os.Getenv("JDK_JAVA_OPTIONS")), b.target.flags) {
		if strings.HasPrefix(f, "-Dfile.encoding=") { // it holds for the compiler in java, too
			encoding = f
		}
	}
	if encoding != "" {
		args = append(args, "-J"+encoding)
	}
	return args
}

// compilerEnvironment is the environment of the compiler. The one that java has for a
// single file does not read options of javac.
func (b *build) compilerEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return b.isOneFile() && strings.HasPrefix(kv, "JDK_JAVAC_OPTIONS=")
	})
}

// keepMessages takes what the compiler has said of a single file, and keeps it for later
// runs.
func (b *build) keepMessages(cache runtimes.Cache, key string, said []byte) (err error) {
	if b.said = nil; !b.isOneFile() {
		return nil
	}
	for line := range bytes.Lines(said) {
		if !bytes.HasPrefix(line, []byte("Picked up ")) { // java says it itself
			b.said = append(b.said, line...)
		}
	}
	if len(b.said) > 0 {
		_, err = cache.Keep(key, messagesEnding, b.said, 0o600)
	}
	return err
}

var numberedSource = pattern.Later(`^([^\s/]+: )?(\d+)[/\\]([^\s:/]+\.java)\b`)

// originalMessages is what the compiler says of the rewritten sources, about the user's:
// their names, and lines without checkpoints.
func (b *build) originalMessages(said []byte) (out []byte) {
	var quoted quotedLine
	for line := range bytes.Lines(said) {
		line = quoted.original(line)
		if m := numberedSource().FindSubmatchIndex(line); m != nil {
			i, _ := strconv.Atoi(string(line[m[4]:m[5]]))
			if i < len(b.files) && filepath.Base(b.files[i].name) == string(line[m[6]:m[7]]) {
				line = slices.Concat(line[:m[4]], []byte(b.files[i].name), line[m[7]:])
			}
		}
		out = append(out, line...)
	}
	return out
}

// tooLargeAlone reports whether all that the compiler refuses is code too large for the
// virtual machine, which it finds out at its end.
func tooLargeAlone(output string) bool {
	large := 0
	for line := range strings.Lines(output) {
		if _, message, is := strings.Cut(line, ": error: "); is {
			if !strings.HasPrefix(message, "code too large") && !strings.HasPrefix(message, "too many constants") {
				return false
			}
			large++
		}
	}
	return large > 0
}

// errorLines are the lines of a message that say what is wrong, without the source that
// it quotes: what is too large may be one line.
func errorLines(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		if strings.Contains(line, ": error: ") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

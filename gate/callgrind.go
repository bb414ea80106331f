package gate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoValgrind says what to install.
var ErrNoValgrind = errors.New("valgrind is not installed, and this machine's processor counters cannot be read: " +
	"apt-get install valgrind (or dnf, zypper, pacman: valgrind), or choose another --metric")

// Callgrind counts the instructions of a command and of all its processes with
// valgrind (valgrind.org/docs/manual/cl-manual.html), which runs it some tens of
// times slower. Of a process that replaces itself by another program only what
// follows counts; the kernel's instructions do not.
type Callgrind struct{ dir string }

// NewCallgrind counts into files below a folder of its own.
func NewCallgrind(dir string) (*Callgrind, error) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return nil, ErrNoValgrind
	}
	return &Callgrind{dir}, os.MkdirAll(dir, 0o700)
}

// Args is a command that counts another. A process that forks takes its counts
// along, so they are written down and begun anew before it does.
func (c *Callgrind) Args(args []string) []string {
	return append([]string{
		"valgrind", "--quiet", "--tool=callgrind", "--trace-children=yes", "--dump-before=fork",
		"--dump-before=__libc_fork", "--dump-before=_Fork",
		"--callgrind-out-file=" + filepath.Join(c.dir, "%p"), "--",
	}, args...)
}

// Environment makes what programs draw at random the same in each run, where that
// is a variable the user has not set.
func (c *Callgrind) Environment(env []string) []string {
	const hash = "PYTHONHASHSEED="
	for _, kv := range env {
		if strings.HasPrefix(kv, hash) {
			return env
		}
	}
	return append(env, hash+"0")
}

// Count adds up what a run wrote, and removes it.
func (c *Callgrind) Count() (float64, error) {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, f := range files {
		path := filepath.Join(c.dir, f.Name())
		n, err := total(path)
		if err != nil {
			return 0, fmt.Errorf("callgrind: %w", err)
		}
		sum += n
		if err := os.Remove(path); err != nil {
			return 0, err
		}
	}
	if sum == 0 {
		return 0,
			errors.New("callgrind counted nothing: valgrind cannot run this command, or it was ended before it could " +
				"write")
	}
	return float64(sum), nil
}

// total is the figure in a file's line totals, or summary in those of some
// versions.
func total(file string) (uint64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var summary uint64
	found := false
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		for _, key := range []string{"summary:", "totals:"} {
			if rest, is := strings.CutPrefix(lines.Text(), key); is && len(strings.Fields(rest)) > 0 {
				n, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return 0, fmt.Errorf("%s: %w", file, err)
				}
				summary, found = n, true
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("%s has no totals: a process was killed before it could write them", file)
	}
	return summary, nil
}

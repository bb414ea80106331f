package doctor

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cg/nemb/sysfs"
)

// Others names the programs that measure on this machine now, besides this one. A session of cg that
// samples has a thread of the sampler's name; cg monitor and cg track have none, and are known by their
// executable and their command line. The packages for sessions keep a list of the processes of a user
// (docs/session.md). Processes that this user may not look into are missing.
func Others() (others []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if name := watcherOf(e.Name()); name != "" {
			others = append(others, fmt.Sprintf("%s (pid %d)", name, pid))
		}
	}
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		if dir == "" {
			continue
		}
		list := listAt(filepath.Join(dir, fmt.Sprintf("codegreen-%d.pids", os.Getuid())))
		for line := range strings.Lines(list) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			pid, err := strconv.Atoi(word)
			name := fmt.Sprintf("codegreen (pid %d)", pid)
			if err == nil && pid > 0 && unix.Kill(pid, 0) != unix.ESRCH && !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
	}
	return others
}

// longestList is how much of a list is read, in bytes.
const longestList = 1 << 16

// listAt is the list of a file of this user, "" for everything else: others may put files there, and
// opening a pipe waits.
func listAt(name string) string {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	var is unix.Stat_t
	if unix.Fstat(int(f.Fd()), &is) != nil || is.Mode&unix.S_IFMT != unix.S_IFREG || int(is.Uid) != os.Getuid() {
		return ""
	}
	list, _ := io.ReadAll(io.LimitReader(f, longestList))
	return string(list)
}

// watcherOf is what a process measures with, "" for one that does not.
func watcherOf(pid string) string {
	line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	args := bytes.Split(line, []byte{0})
	for i, arg := range args {
		if name := filepath.Base(string(arg)); i < 3 && slices.Contains(watchers, strings.TrimSuffix(name, ".py")) {
			return name
		}
	}
	command := ""
	if len(args) > 1 {
		command = string(args[1])
	}
	// cg track has commands of its own, which read nothing.
	reads := command == "monitor" ||
		command == "track" && (len(args) < 3 || len(args[2]) == 0 || args[2][0] == '-')
	if reads && isCg(pid, string(args[0])) {
		return "cg " + command
	}
	tasks, _ := filepath.Glob(filepath.Join("/proc", pid, "task/*/comm"))
	for _, task := range tasks {
		if sysfs.Line(task) != "cg-sampler" {
			continue
		}
		if slices.Contains([]string{"measure", "run", "track", "sampler", "gate"}, command) {
			return "cg " + command
		}
		return "cg"
	}
	return ""
}

// isCg reports whether a process is a cg: this one's executable, or one of that name.
func isCg(pid, name string) bool {
	own, err := os.Readlink("/proc/self/exe")
	exe, failed := os.Readlink(filepath.Join("/proc", pid, "exe"))
	return err == nil && failed == nil && exe == own || filepath.Base(name) == "cg"
}

// Package access plans who may read the energy counters, and how to undo that: a group
// may read those of powercap, or cg itself, by a capability, those of perf_event.
//
// It takes a system root and returns a Plan: steps that can be shown before they are done.
// It makes nothing readable for everybody.
package access

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/rapl"
	"cg/nemb/sensor/hwmon"
	"cg/pattern"
	"cg/shown"
)

// DefaultGroup is the group that may read the counters once a Plan of Grant ran.
const DefaultGroup = "cg-sensors"

// Request says how counters are to be made readable.
type Request struct {
	Method  string // group, setcap, or "" for what fits the machine
	Group   string
	User    string // to be added to the group; "" for nobody
	Program string // that setcap marks
}

// Plan is a list of changes to the system.
type Plan struct {
	Steps []Step
	After string // what is left to do by hand
}

// Step is one change.
type Step struct {
	Text string // a command, or what is written where
	tool string // the program that it takes; "" for none
	do   func() error
}

// tools are the programs that steps take, and the packages of Debian that have them.
var tools = map[string]string{
	"groupadd": "passwd", "groupdel": "passwd", "usermod": "passwd", "gpasswd": "passwd",
	"setcap": "libcap2-bin", "udevadm": "udev",
}

// Check tells whether the programs that the steps take are there. It changes nothing.
func (p *Plan) Check() error {
	for _, s := range p.Steps {
		if s.tool == "" {
			continue
		}
		if _, err := exec.LookPath(s.tool); err != nil {
			return fmt.Errorf("%s is not installed, and nothing was done: apt-get install %s", s.tool, tools[s.tool])
		}
	}
	return nil
}

// ErrNothing says that there is nothing to do.
var ErrNothing = errors.New("nothing to do")

// Run makes the changes in order and stops at the first that fails. done is
// called after each.
func (p *Plan) Run(done func(Step)) error {
	for _, s := range p.Steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.Text, err)
		}
		done(s)
	}
	return nil
}

// command adds a step that runs a command. Below a system root the tools that
// keep the list of groups get its place.
func (p *Plan) command(root nemb.Root, name string, args ...string) {
	if root.Dir != "" {
		args = append([]string{"--prefix", root.Dir}, args...)
	}
	p.tool(name, args...)
}

func (p *Plan) tool(name string, args ...string) {
	text := strings.Join(append([]string{name}, args...), " ")
	p.Steps = append(p.Steps, Step{text, name, func() error { return run(name, args...) }})
}

// file adds a step that cg does itself.
func (p *Plan) file(do func() error, format string, args ...any) {
	p.Steps = append(p.Steps, Step{Text: fmt.Sprintf(format, args...), do: do})
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("it ended with status %d: %s", exit.ExitCode(), strings.TrimSpace(string(out)))
	}
	return err
}

var groupName = pattern.Later(`^[a-z_][a-z0-9_-]{0,30}$`)

// rulesFile is where the rule is kept that udev(7) applies when a zone
// appears. Its first lines remember what else was changed.
func rulesFile(root nemb.Root) string {
	return filepath.Join(root.Dir, "/etc/udev/rules.d/70-cg-sensors.rules")
}

const rulesHead = "# Written by cg init-sensors; cg init-sensors --undo takes it back.\n"

// record is what the rules file remembers.
type record struct {
	group string
	made  bool   // the group was made
	user  string // who was added to it, with commas between
	files map[string]ownership
}

// ownership is who may read a file.
type ownership struct {
	mode     uint32 // the permission bits
	uid, gid int
}

// kernels is what the kernel makes energy_uj (since Linux 5.10).
var kernels = ownership{mode: 0o400}

func (r record) rules() string {
	text := rulesHead + fmt.Sprintf("# group %s made %v user %s\n", r.group, r.made, shown.OrUnknown(r.user))
	for _, f := range slices.Sorted(maps.Keys(r.files)) {
		was := r.files[f]
		text += fmt.Sprintf("# before %04o %d %d %q\n", was.mode, was.uid, was.gid, f)
	}
	return text +
		fmt.Sprintf(`ACTION=="add|change", SUBSYSTEM=="powercap", TEST=="energy_uj", `+
			`RUN+="/bin/chgrp %s /sys%%p/energy_uj", RUN+="/bin/chmod 0440 /sys%%p/energy_uj"`, r.group) + "\n"
}

func readRecord(root nemb.Root) (record, error) {
	text, err := os.ReadFile(rulesFile(root))
	if err != nil {
		return record{}, err
	}
	r := record{files: map[string]ownership{}}
	rest, ours := strings.CutPrefix(string(text), rulesHead)
	if _, err := fmt.Sscanf(rest, "# group %s made %t user %s\n", &r.group, &r.made, &r.user); !ours || err != nil {
		return r, fmt.Errorf("%s was not written by cg: it stays as it is", rulesFile(root))
	}
	if r.user == "?" {
		r.user = ""
	}
	for line := range strings.Lines(rest) {
		var was ownership
		var f string
		if !strings.HasPrefix(line, "# before ") {
			continue
		}
		if _, err := fmt.Sscanf(line, "# before %o %d %d %q\n", &was.mode, &was.uid, &was.gid, &f); err != nil {
			return r, fmt.Errorf("%s: %q does not tell who could read a file before: nothing was done; correct or "+
				"remove that line",
				rulesFile(root), strings.TrimSpace(line))
		}
		r.files[f] = was
	}
	return r, nil
}

// entry finds the line of a name in a file such as /etc/group (group(5), passwd(5)).
func entry(path, name string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), ":"); fields[0] == name {
			return fields, nil
		}
	}
	return nil, lines.Err()
}

// groupID finds a group in /etc/group and tells whether a user is in it; id is
// -1 where there is none of that name.
func groupID(root nemb.Root, group, user string) (id int, in bool) {
	fields, err := entry(filepath.Join(root.Dir, "/etc/group"), group)
	if err != nil || len(fields) != 4 {
		return -1, false
	}
	if id, err = strconv.Atoi(fields[2]); err != nil {
		return -1, false
	}
	return id, slices.Contains(strings.Split(fields[3], ","), user)
}

// checkUser refuses a user that there is not. On the live machine the system is
// asked, which may know users that are not in /etc/passwd.
func checkUser(root nemb.Root, name string) error {
	where := ""
	if root.Dir == "" {
		_, err := user.Lookup(name)
		if err == nil {
			return nil
		}
		if !errors.As(err, new(user.UnknownUserError)) {
			return err
		}
	} else {
		path := filepath.Join(root.Dir, "/etc/passwd")
		fields, err := entry(path, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(fields) == 7 {
			return nil
		}
		where = " in " + path
	}
	return fmt.Errorf("there is no user %s%s: nothing was done; --user names who is to read the counters", name, where)
}

// hasPMU tells whether the machine counts energy through perf_event.
func hasPMU(root nemb.Root) bool {
	_, _, err := rapl.PMU(root)
	return err == nil
}

// DefaultMethod is how the counters of a machine are made readable unless
// another way is chosen: group where there is powercap, else setcap.
func DefaultMethod(root nemb.Root) (string, error) {
	switch {
	case len(rapl.Counters(root)) > 0:
		return "group", nil
	case hasPMU(root):
		return "setcap", nil
	}
	return "", fmt.Errorf("this machine has no counters below %s or %s that could be made readable",
		root.Sys("class/powercap"), root.Sys("bus/event_source/devices/power"))
}

// LeftAlone tells of each sensor of energy or power that a hardware monitor has
// why Grant leaves it as it is.
func LeftAlone(root nemb.Root) []string {
	var all []string
	for _, f := range hwmon.Files(root) {
		now, err := ownershipOf(f.Path)
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case f.Fault != nil:
			why = "what it measures cannot be read: " + f.Fault.Error()
		case f.Unused != "":
			why = "cg does not measure with it: " + f.Unused
		case now.mode&0o004 != 0:
			why = "everybody may read it"
		default:
			why = fmt.Sprintf("init-sensors does powercap and perf_event; "+
				"until the next start your group may read it after "+
				"sudo chgrp \"$(id -gn)\" %s && sudo chmod g+r %[1]s", f.Path)
		}
		all = append(all, fmt.Sprintf("hwmon: %s %s stays as it is: %s", f.Chip, f.Path, why))
	}
	return all
}

// Grant plans what lets a group read the counters of powercap, or what
// lets cg open those of perf_event. Nothing becomes readable for everybody.
func Grant(root nemb.Root, a Request) (*Plan, error) {
	files := rapl.Counters(root)
	if a.Method == "" {
		var err error
		if a.Method, err = DefaultMethod(root); err != nil {
			return nil, err
		}
	}
	switch a.Method {
	case "group":
		if len(files) == 0 {
			return nil, fmt.Errorf("there are no counters below %s: a group would have nothing to read",
				root.Sys("class/powercap"))
		}
		return planGroup(root, a, files)
	case "setcap":
		if !hasPMU(root) {
			return nil, fmt.Errorf("there is no %s: cap_perfmon would open nothing",
				root.Sys("bus/event_source/devices/power"))
		}
		return planCapability(a.Program)
	}
	return nil, fmt.Errorf("%q is no method: use group or setcap", a.Method)
}

func planGroup(root nemb.Root, a Request, files []string) (*Plan, error) {
	if !groupName().MatchString(a.Group) {
		return nil, fmt.Errorf("%q is no name for a group: use lower-case letters, digits, - and _", a.Group)
	}
	if a.User != "" {
		if err := checkUser(root, a.User); err != nil {
			return nil, err
		}
	}
	p := &Plan{}
	id, in := groupID(root, a.Group, a.User)
	r := record{group: a.Group, made: id < 0, files: map[string]ownership{}}
	before, err := readRecord(root)
	switch {
	case err == nil && before.group != a.Group:
		return nil, fmt.Errorf("it was done before with the group %s: take that back first (cg init-sensors --undo)",
			before.group)
	case err == nil:
		r = before
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	var change []string
	for _, f := range files {
		now, err := ownershipOf(f)
		if err != nil {
			return nil, err
		}
		given := now.mode == 0o440 && now.gid == id
		if !given {
			change = append(change, f)
		}
		// What an earlier run, or its rule, gave to the group is not what was there before.
		if name := below(root, f); before.group == "" || !given {
			if _, known := r.files[name]; !known {
				r.files[name] = now
			}
		}
	}
	if a.User != "" && !in {
		r.user = strings.TrimPrefix(r.user+","+a.User, ",")
		p.After = fmt.Sprintf("%s is in the group from the next login on (or in: newgrp %s)", a.User, a.Group)
	}
	// First of all: what is not written down cannot be taken back.
	text, _ := os.ReadFile(rulesFile(root))
	rules, file := r.rules(), rulesFile(root)
	if string(text) != rules {
		p.file(func() error { return writeWhole(file, rules) }, "write %s:\n%s", file, indented(rules))
	}
	if id < 0 {
		p.command(root, "groupadd", "--system", a.Group)
	}
	if a.User != "" && !in {
		p.command(root, "usermod", "-a", "-G", a.Group, a.User)
	}
	for _, f := range change {
		p.file(func() error {
			id, _ := groupID(root, a.Group, "")
			if id < 0 {
				return fmt.Errorf("there is no group %s", a.Group)
			}
			return give(f, ownership{0o440, -1, id})
		}, "chgrp %s %s && chmod 0440 %[2]s", a.Group, f)
	}
	if string(text) != rules && root.Dir == "" {
		p.reload()
	}
	if len(p.Steps) == 0 {
		return nil, fmt.Errorf("%w: the group %s reads the counters already", ErrNothing, a.Group)
	}
	return p, nil
}

// reload has udev read its rules again, where there is one.
func (p *Plan) reload() {
	if _, err := exec.LookPath("udevadm"); err == nil {
		p.tool("udevadm", "control", "--reload")
	}
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// below is a counter's name without the root: /sys/devices/...
func below(root nemb.Root, file string) string {
	if base, err := filepath.EvalSymlinks(root.Sys()); err == nil {
		file = strings.TrimPrefix(file, strings.TrimSuffix(base, "/sys"))
	}
	return file
}

func ownershipOf(file string) (ownership, error) {
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		return ownership{}, fmt.Errorf("%s: %w", file, err)
	}
	return ownership{s.Mode & 0o7777, int(s.Uid), int(s.Gid)}, nil
}

// give makes a file's access what it is to be; an owner of -1 stays. In between,
// nobody reads who does not before or after.
func give(file string, to ownership) error {
	now, err := ownershipOf(file)
	if err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { return unix.Chmod(file, now.mode&to.mode) },
		func() error { return unix.Chown(file, to.uid, to.gid) },
		func() error { return unix.Chmod(file, to.mode) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file that is there whole or not at all.
func writeWhole(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".cg-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return err
	}
	return os.Rename(f.Name(), name)
}

// capability is the attribute that setcap(8) writes.
const capability = "security.capability"

func marked(program string) bool {
	n, err := unix.Getxattr(program, capability, nil)
	return err == nil && n > 0
}

func checkProgram(program string) error {
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no program that could be given a capability", program)
	}
	return nil
}

func planCapability(program string) (*Plan, error) {
	if err := checkProgram(program); err != nil {
		return nil, err
	}
	if marked(program) {
		return nil, fmt.Errorf("%w: %s has capabilities already (getcap %s)", ErrNothing, program, program)
	}
	p := &Plan{After: "whoever may run " + program + " may now read the counters through it; a new copy of it needs " +
		"this again"}
	p.tool("setcap", "cap_perfmon+ep", program)
	return p, nil
}

// Revoke plans to take back what Grant did: what the rules file
// remembers, and the capability of a program.
func Revoke(root nemb.Root, program string) (*Plan, error) {
	if err := checkProgram(program); err != nil {
		return nil, err
	}
	p := &Plan{}
	r, err := readRecord(root)
	switch {
	case err == nil:
		if err := p.undoGroup(root, r); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if marked(program) {
		p.tool("setcap", "-r", program)
	}
	if len(p.Steps) == 0 {
		return nil, fmt.Errorf("%w: there is no %s, and %s has no capabilities", ErrNothing, rulesFile(root), program)
	}
	return p, nil
}

// undoGroup gives every counter the access that it had. One of which none is kept
// came later, and the rule gave it to the group.
func (p *Plan) undoGroup(root nemb.Root, r record) error {
	id, _ := groupID(root, r.group, "")
	for _, f := range rapl.Counters(root) {
		now, err := ownershipOf(f)
		if err != nil {
			return err
		}
		was, kept := r.files[below(root, f)]
		if !kept {
			was = kernels
		}
		if now == was || !kept && now.gid != id {
			continue
		}
		p.file(func() error { return give(f, was) }, "chown %d:%d %s && chmod %04o %[3]s", was.uid, was.gid, f,
			was.mode)
	}
	if id >= 0 && r.made {
		p.command(root, "groupdel", r.group)
	}
	for name := range strings.SplitSeq(r.user, ",") {
		if _, in := groupID(root, r.group, name); r.made || name == "" || !in {
			continue
		}
		if root.Dir == "" {
			p.tool("gpasswd", "-d", name, r.group)
		} else {
			p.command(root, "usermod", "-r", "-G", r.group, name)
		}
	}
	// Last of all: until then the rest can be done again.
	p.file(func() error { return os.Remove(rulesFile(root)) }, "rm %s", rulesFile(root))
	if root.Dir == "" {
		p.reload()
	}
	return nil
}

package nemb

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// AccessGroup is the group that may read the counters once PlanAccess ran.
const AccessGroup = "cg-sensors"

// Access says how counters are to be made readable.
type Access struct {
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
	do   func() error
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
// keep the list of groups are told where it is.
func (p *Plan) command(root Root, name string, args ...string) {
	if root.Dir != "" {
		args = append([]string{"--prefix", root.Dir}, args...)
	}
	p.Steps = append(p.Steps, Step{strings.Join(append([]string{name}, args...), " "), func() error { return run(name, args...) }})
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("it ended with status %d: %s", exit.ExitCode(), strings.TrimSpace(string(out)))
	}
	return err
}

var groupName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,30}$`)

// rulesFile is where the rule is kept that udev(7) applies when a zone
// appears. Its first lines remember what else was changed.
func rulesFile(root Root) string {
	return filepath.Join(root.Dir, "/etc/udev/rules.d/70-cg-sensors.rules")
}

const rulesHead = "# Written by cg init-sensors; cg init-sensors --undo takes it back.\n"

// record is what the rules file remembers.
type record struct {
	group string
	made  bool   // the group was made
	user  string // who was added to it, with commas between
}

func (r record) rules() string {
	return rulesHead + fmt.Sprintf("# group %s made %v user %s\n", r.group, r.made, orNone(r.user)) +
		fmt.Sprintf(`ACTION=="add|change", SUBSYSTEM=="powercap", TEST=="energy_uj", RUN+="/bin/chgrp %s /sys%%p/energy_uj", RUN+="/bin/chmod 0440 /sys%%p/energy_uj"`, r.group) + "\n"
}

func readRecord(root Root) (record, error) {
	text, err := os.ReadFile(rulesFile(root))
	if err != nil {
		return record{}, err
	}
	var r record
	rest, ours := strings.CutPrefix(string(text), rulesHead)
	if _, err := fmt.Sscanf(rest, "# group %s made %t user %s\n", &r.group, &r.made, &r.user); !ours || err != nil {
		return r, fmt.Errorf("%s was not written by cg: it stays as it is", rulesFile(root))
	}
	if r.user == "?" {
		r.user = ""
	}
	return r, nil
}

// groupID finds a group in /etc/group (group(5)) and tells whether a user is
// in it; id is -1 where there is none of that name.
func groupID(root Root, group, user string) (id int, in bool) {
	f, err := os.Open(filepath.Join(root.Dir, "/etc/group"))
	if err != nil {
		return -1, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 4 && fields[0] == group {
			if id, err = strconv.Atoi(fields[2]); err == nil {
				return id, slices.Contains(strings.Split(fields[3], ","), user)
			}
		}
	}
	return -1, false
}

// counterFiles lists energy_uj of every zone.
func counterFiles(root Root) []string {
	zones, _ := powercapZones(root)
	base, err := filepath.EvalSymlinks(root.Sys())
	if err != nil {
		return nil
	}
	var all []string
	for _, z := range zones {
		// Zones are links. What lies outside the root is none of its counters.
		name, err := filepath.EvalSymlinks(filepath.Join(z.path, "energy_uj"))
		if err == nil && strings.HasPrefix(name, strings.TrimSuffix(base, "/")+"/") {
			all = append(all, name)
		}
	}
	return all
}

// hasPMU tells whether the machine counts energy through perf_event.
func hasPMU(root Root) bool {
	_, err := os.Stat(root.Sys("bus/event_source/devices/power/type"))
	return err == nil
}

// AccessMethod is how the counters of a machine are made readable unless
// another way is chosen: group where there is powercap, else setcap.
func AccessMethod(root Root) (string, error) {
	switch {
	case len(counterFiles(root)) > 0:
		return "group", nil
	case hasPMU(root):
		return "setcap", nil
	}
	return "", fmt.Errorf("this machine has no counters below %s or %s that could be made readable",
		root.Sys("class/powercap"), root.Sys("bus/event_source/devices/power"))
}

// PlanAccess plans what lets a group read the counters of powercap, or what
// lets cg open those of perf_event. Nothing becomes readable for everybody.
func PlanAccess(root Root, a Access) (*Plan, error) {
	files := counterFiles(root)
	if a.Method == "" {
		var err error
		if a.Method, err = AccessMethod(root); err != nil {
			return nil, err
		}
	}
	switch a.Method {
	case "group":
		if len(files) == 0 {
			return nil, fmt.Errorf("there are no counters below %s: a group would have nothing to read", root.Sys("class/powercap"))
		}
		return planGroup(root, a, files)
	case "setcap":
		if !hasPMU(root) {
			return nil, fmt.Errorf("there is no %s: cap_perfmon would open nothing", root.Sys("bus/event_source/devices/power"))
		}
		return planCapability(a.Program)
	}
	return nil, fmt.Errorf("%q is no method: use group or setcap", a.Method)
}

func planGroup(root Root, a Access, files []string) (*Plan, error) {
	if !groupName.MatchString(a.Group) {
		return nil, fmt.Errorf("%q is no name for a group: use lower-case letters, digits, - and _", a.Group)
	}
	p := &Plan{}
	id, in := groupID(root, a.Group, a.User)
	r := record{group: a.Group, made: id < 0}
	before, err := readRecord(root)
	switch {
	case err == nil && before.group != a.Group:
		return nil, fmt.Errorf("it was done before with the group %s: take that back first (cg init-sensors --undo)", before.group)
	case err == nil:
		r = before
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if id < 0 {
		p.command(root, "groupadd", "--system", a.Group)
	}
	if a.User != "" && !in {
		p.command(root, "usermod", "-a", "-G", a.Group, a.User)
		r.user = strings.TrimPrefix(r.user+","+a.User, ",")
		p.After = fmt.Sprintf("%s is in the group from the next login on (or in: newgrp %s)", a.User, a.Group)
	}
	if text, _ := os.ReadFile(rulesFile(root)); string(text) != r.rules() {
		p.Steps = append(p.Steps, Step{fmt.Sprintf("write %s:\n%s", rulesFile(root), indented(r.rules())), func() error { return writeWhole(rulesFile(root), r.rules()) }})
		if root.Dir == "" {
			p.reload()
		}
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && id >= 0 && owner(info) == id && info.Mode().Perm() == 0o440 {
			continue
		}
		p.Steps = append(p.Steps, Step{fmt.Sprintf("chgrp %s %s && chmod 0440 %[2]s", a.Group, f), func() error {
			id, _ := groupID(root, a.Group, "")
			if id < 0 {
				return fmt.Errorf("there is no group %s", a.Group)
			}
			return give(f, id, 0o440)
		}})
	}
	if len(p.Steps) == 0 {
		return nil, fmt.Errorf("%w: the group %s reads the counters already", ErrNothing, a.Group)
	}
	return p, nil
}

// reload has udev read its rules again, where there is one.
func (p *Plan) reload() {
	if _, err := exec.LookPath("udevadm"); err == nil {
		p.Steps = append(p.Steps, Step{"udevadm control --reload", func() error { return run("udevadm", "control", "--reload") }})
	}
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Gid)
	}
	return -1
}

// give sets the mode before the group: in between, nobody reads more than
// before or after.
func give(name string, group int, mode os.FileMode) error {
	if err := os.Chmod(name, mode&^0o040); err != nil {
		return err
	}
	if err := os.Chown(name, -1, group); err != nil {
		return err
	}
	return os.Chmod(name, mode)
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

func planCapability(program string) (*Plan, error) {
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no program that could be given a capability", program)
	}
	if marked(program) {
		return nil, fmt.Errorf("%w: %s has capabilities already (getcap %s)", ErrNothing, program, program)
	}
	if _, err := exec.LookPath("setcap"); err != nil {
		return nil, errors.New("setcap is not installed (apt-get install libcap2-bin)")
	}
	p := &Plan{After: "whoever may run " + program + " may now read the counters through it; a new copy of it needs this again"}
	p.Steps = []Step{{"setcap cap_perfmon+ep " + program, func() error { return run("setcap", "cap_perfmon+ep", program) }}}
	return p, nil
}

// PlanUndo plans to take back what PlanAccess did: what the rules file
// remembers, and the capability of a program.
func PlanUndo(root Root, program string) (*Plan, error) {
	p := &Plan{}
	r, err := readRecord(root)
	switch {
	case err == nil:
		id, _ := groupID(root, r.group, "")
		for _, f := range counterFiles(root) {
			if info, err := os.Stat(f); err == nil && id >= 0 && owner(info) == id {
				p.Steps = append(p.Steps, Step{fmt.Sprintf("chmod 0400 %s && chgrp root %[1]s", f), func() error { return give(f, 0, 0o400) }})
			}
		}
		p.Steps = append(p.Steps, Step{"rm " + rulesFile(root), func() error { return os.Remove(rulesFile(root)) }})
		if root.Dir == "" {
			p.reload()
		}
		if id >= 0 && r.made {
			p.command(root, "groupdel", r.group)
			break
		}
		for user := range strings.SplitSeq(r.user, ",") {
			if _, in := groupID(root, r.group, user); user == "" || !in {
				continue
			}
			if root.Dir == "" {
				p.command(root, "gpasswd", "-d", user, r.group)
			} else {
				p.command(root, "usermod", "-r", "-G", r.group, user)
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if marked(program) {
		p.Steps = append(p.Steps, Step{"setcap -r " + program, func() error { return run("setcap", "-r", program) }})
	}
	if len(p.Steps) == 0 {
		return nil, fmt.Errorf("%w: there is no %s, and %s has no capabilities", ErrNothing, rulesFile(root), program)
	}
	return p, nil
}

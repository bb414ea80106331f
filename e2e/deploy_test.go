package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"
)

// daemonSet is what the tests read of the manifest.
type daemonSet struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				HostPID, HostNetwork bool
				Containers           []struct {
					Args []string
					Env  []struct{ Name, Value string }

					SecurityContext struct {
						Privileged, AllowPrivilegeEscalation, ReadOnlyRootFilesystem bool

						Capabilities struct{ Drop, Add []string }
					}
					VolumeMounts []struct {
						Name, MountPath string
						ReadOnly        bool
					}
				}
				Volumes []struct {
					Name     string
					HostPath struct{ Path string }
				}
			}
		}
	}
}

// flagsOf lists what begins with "--" among arguments.
func flagsOf(args []string) (flags []string) {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !strings.HasPrefix(a, "--") })
}

// The manifest and the image start cg with flags that it has, what the pod may write is its own
// folder for temporary files, and it has no right but the one.
func TestDeployedContainers(t *testing.T) {
	help, err := monitorCommand(t, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := func(what string, args []string) {
		t.Helper()
		if len(args) < 2 || args[0] != "monitor" || len(flagsOf(args)) == 0 {
			t.Errorf("%s starts cg with %q", what, args)
		}
		for _, f := range flagsOf(args) {
			if !strings.Contains(string(help), f+" ") {
				t.Errorf("%s: cg monitor has no %s", what, f)
			}
		}
	}
	b, err := os.ReadFile("deploy/container/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	if err := json.Unmarshal(regexp.MustCompile(`(?m)^CMD (.*)$`).FindSubmatch(b)[1], &args); err != nil {
		t.Fatal(err)
	}
	known("the image", args)

	b, err = os.ReadFile("deploy/kubernetes/daemonset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for d := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var document map[string]any
		err := d.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		var s daemonSet
		if err == nil {
			b, err = json.Marshal(document)
		}
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind != "DaemonSet" {
			continue
		}
		seen = true
		pod := s.Spec.Template.Spec
		c := pod.Containers[0]
		known("the pod", c.Args)
		may := c.SecurityContext
		if may.Privileged || may.AllowPrivilegeEscalation || !may.ReadOnlyRootFilesystem || pod.HostNetwork ||
			!slices.Equal(may.Capabilities.Drop, []string{"ALL"}) || !slices.Equal(may.Capabilities.Add, []string{"PERFMON"}) {
			t.Errorf("the pod may do more than it should: %+v", may)
		}
		for _, v := range pod.Volumes {
			for _, m := range c.VolumeMounts {
				if m.Name == v.Name && v.HostPath.Path != "" && (!m.ReadOnly || m.MountPath != c.Env[0].Value+v.HostPath.Path) {
					t.Errorf("%+v of %+v", m, v)
				}
			}
		}
		if len(pod.Volumes) != len(c.VolumeMounts) || c.Env[0].Name != "CG_SYSROOT" || !pod.HostPID {
			t.Errorf("%+v", pod)
		}
	}
	if !seen {
		t.Error("there is no DaemonSet")
	}
}

// container starts what follows as a runtime starts the pod: in a control group and a namespace of its own, below a root that
// has the image's files and cannot be written, with the one
// right, and that of chroot. $1 is the group, $2 the root.
const container = `
echo $$ > "$1/cgroup.procs" && exec unshare --cgroup --mount --propagation private sh -e -c '
root=$2; shift 2
for dir in proc dev host/sys/class host/sys/devices host/sys/bus host/sys/fs/cgroup sys/fs/cgroup tmp; do mkdir -p "$root/$dir"; done
mount --bind "$root" "$root"
touch "$root/usr/local/bin/cg"
mount --bind "$CG_BIN" "$root/usr/local/bin/cg"
for dir in lib lib64 usr/lib; do [ ! -e /$dir ] || { mkdir -p "$root/$dir"; mount --bind /$dir "$root/$dir"; }; done
mount --rbind /proc "$root/proc"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount --bind "$CG_HOST" "$root/host/sys/fs/cgroup"
mount -t tmpfs none "$root/tmp"
mount -o remount,bind,ro "$root/host/sys/fs/cgroup"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs --bounding-set -all,+perfmon,+sys_chroot --inh-caps -all chroot "$root" /usr/local/bin/cg "$@"
' sh "$@"
`

// noContainer is why a test that needs a container is left out, by what the commands that make it have
// said; "" where it has to fail. What the kernel forbids is left out everywhere. A command
// that is missing, or too old, is left out on a user's machine alone.
func noContainer(said string, ci bool) string {
	for line := range strings.Lines(said) {
		if command := makesContainer.FindString(line); command != "" {
			line = strings.TrimSpace(line)
			switch {
			case forbidden.MatchString(line):
				return "the kernel forbids it: " + line
			case !ci:
				return "no container can be made here: " + line
			}
		}
	}
	return ""
}

var (
	makesContainer = regexp.MustCompile(`\b(unshare|mount|setpriv): `)
	// The texts of EPERM and EACCES, and what mount(8) says in their place.
	forbidden = regexp.MustCompile(`(?i)operation not permitted|permission denied|must be superuser`)
)

func TestNoContainer(t *testing.T) {
	for _, test := range []struct{ said, ci, user string }{
		{"unshare: unshare failed: Operation not permitted\n", "the kernel forbids it: ", "the kernel forbids it: "},
		{"mount: /tmp/x: permission denied.\n", "the kernel forbids it: ", "the kernel forbids it: "},
		{"sh: 1: exec: unshare: not found\n", "", "no container can be made here: "},
		{"setpriv: unknown capability \"perfmon\"\n", "", "no container can be made here: "},
		{"mount: /tmp/x: unknown filesystem type 'cgroup2'.\n", "", "no container can be made here: "},
		{"cg: monitor: permission denied\n", "", ""},
	} {
		for _, on := range []struct {
			ci   bool
			want string
		}{{true, test.ci}, {false, test.user}} {
			if on.want != "" {
				on.want += strings.TrimSpace(test.said)
			}
			if got := noContainer(test.said, on.ci); got != on.want {
				t.Errorf("CI %v: %q gives %q, want %q", on.ci, test.said, got, on.want)
			}
		}
	}
}

// In a container cg monitor shows the host's control groups by their own paths.
func TestMonitorInContainer(t *testing.T) {
	groups := ""
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" && groups == "" {
			groups = f[1]
		}
	}
	if groups == "" {
		t.Skip("control groups of version 2 are mounted nowhere")
	} else if !isWholeRoot(t) {
		t.Skip("it takes root with its rights over the whole machine")
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	_, at, _ := strings.Cut(string(own), "0::")
	path := filepath.Join("/", strings.TrimSpace(strings.SplitN(at, "\n", 2)[0]), fmt.Sprintf("cg-pod-%d", os.Getpid()), "cg")
	group := filepath.Join(groups, path)
	if err := os.MkdirAll(group, 0o755); errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		t.Skipf("the kernel lets nobody make a group here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		unix.Rmdir(group)
		unix.Rmdir(filepath.Dir(group))
	}()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "usr/local/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", container, "sh", group, root, "monitor", "-s", "estimate", "-d", "0.6", "-i", "0.2",
		"-o", "-", "--top", "0", "--cgroup", path)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "CG_BIN="+self, "CG_BE_CG=1", "CG_HOST="+groups, "CG_SYSROOT=/host", "TMPDIR=/tmp", "HOME=/tmp",
		"LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if why := noContainer(said.String(), os.Getenv("CI") == "true"); err != nil && why != "" {
		t.Skip(why)
	} else if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	var d struct {
		Targets []struct {
			Name string
			CPU  float64 `json:"cpu_time_s"`
		}
	}
	if err := json.Unmarshal(out, &d); err != nil || len(d.Targets) != 1 || d.Targets[0].Name != path || d.Targets[0].CPU <= 0 {
		t.Errorf("%v, want processor time of %s: %s", err, path, out)
	}
}

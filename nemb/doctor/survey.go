// Package doctor tells what a machine can measure energy with (Look), and what prevents
// measuring (Examine). It takes a system root and the names of sensors; it opens them,
// closes them again, and changes nothing.
package doctor

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/sysfs"
)

// Survey is what a machine has to measure energy with, as cg info tells it.
type Survey struct {
	Machine     Machine               `json:"machine"`
	Energy      nemb.Method           `json:"energy"` // the weakest of the domains that are in the total
	Sensors     []SensorState         `json:"sensors"`
	Domains     []DomainState         `json:"domains"`
	Topology    map[string]nemb.Place `json:"domain_topology"`
	Support     string                `json:"domain_support"`
	Clock       ClockState            `json:"clock"`
	Permissions Permissions           `json:"permissions"`
}

// Machine is what is known of a machine. What is not known is empty.
type Machine struct {
	CPU        string  `json:"cpu_model"`
	Vendor     string  `json:"cpu_vendor"`
	Family     int     `json:"cpu_family"`
	Model      int     `json:"cpu_model_number"`
	Stepping   int     `json:"cpu_stepping"`
	March      string  `json:"microarchitecture"`
	Year       int     `json:"release_year"`
	TDP        float64 `json:"tdp_w"` // of a common model of the kind
	Sockets    int     `json:"sockets"`
	Processors int     `json:"processors"`
	Kernel     string  `json:"kernel"`
	Virtual    bool    `json:"virtual_machine"`
	Hypervisor string  `json:"hypervisor"`
	Container  string  `json:"container"`
}

// SensorState is one source and what became of it.
type SensorState struct {
	Name    string     `json:"name"`
	State   nemb.State `json:"state"`
	Domains []string   `json:"domains"`
	Reasons []Reason   `json:"reasons"`
	Notes   []string   `json:"notes"`
	Doubts  []string   `json:"doubts"`
}

// Reason is why something is not read, and the command that fixes it.
type Reason struct {
	Text string `json:"text"`
	Fix  string `json:"fix"`
}

// DomainState is a domain that is read.
type DomainState struct {
	ID       string      `json:"id"`
	Kind     string      `json:"kind"`
	Parent   string      `json:"parent"`
	InTotal  bool        `json:"in_total"`
	Method   nemb.Method `json:"method"`
	Source   string      `json:"source"`
	PeriodMs float64     `json:"update_period_ms"`
	WrapJ    float64     `json:"wraps_at_j"` // 0 for never
	MostW    float64     `json:"plausible_below_w"`
}

// ClockState is the machine's clock.
type ClockState struct {
	Kernel    string `json:"kernel"`    // clocksource of the kernel
	Invariant bool   `json:"invariant"` // one rate in every power state
	Channel   string `json:"channel"`   // what checkpoints are stamped with here
}

// Permissions is what this process may do.
type Permissions struct {
	UID          int      `json:"uid"`
	Capabilities []string `json:"capabilities"` // of those that matter here
	Paranoid     *int     `json:"perf_event_paranoid"`
	Realtime     bool     `json:"realtime"` // the sampler may run under SCHED_FIFO
}

// Look surveys a machine. With want it is what a run with these sensors would
// read. It opens every sensor and closes it again.
func Look(root nemb.Root, want []string) (*Survey, error) {
	found, err := nemb.Inspect(root, want)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	s := &Survey{
		Machine: machineOf(root), Clock: clockOf(root), Permissions: permissions(root),
		Sensors: []SensorState{}, Domains: []DomainState{}, Energy: nemb.Unavailable,
	}
	for _, seen := range found.Seen {
		state := SensorState{Name: seen.Source.Name, State: seen.State, Domains: []string{}, Reasons: []Reason{},
			Notes: []string{}, Doubts: []string{}}
		state.Domains = append(state.Domains, seen.Domains...)
		for _, err := range seen.Errors {
			r := Reason{Text: err.Error()}
			var d *nemb.Denied
			if errors.As(err, &d) {
				r = Reason{Text: d.What + ": " + d.Err.Error() + ": " + d.Why, Fix: d.Fix}
			}
			state.Reasons = append(state.Reasons, r)
		}
		for _, n := range seen.Notes {
			if n.Doubt {
				state.Doubts = append(state.Doubts, n.Text)
			} else {
				state.Notes = append(state.Notes, n.Text)
			}
		}
		s.Sensors = append(s.Sensors, state)
	}
	domains := found.Domains()
	rank := []nemb.Method{nemb.Unavailable, nemb.Measured, nemb.Derived, nemb.Estimated}
	for _, d := range domains {
		s.Domains = append(s.Domains, DomainState{
			ID: d.ID, Kind: d.Kind, Parent: d.Parent, InTotal: d.InTotal, Method: d.Method, Source: d.Source,
			PeriodMs: float64(d.Period.Microseconds()) / 1000, WrapJ: d.Wrap.Joules(), MostW: d.Most,
		})
		if d.InTotal && slices.Index(rank, d.Method) > slices.Index(rank, s.Energy) {
			s.Energy = d.Method
		}
	}
	s.Topology, s.Support = nemb.Topology(domains), nemb.Support(domains)
	return s, nil
}

func machineOf(root nemb.Root) Machine {
	cpu := root.CPU()
	m := Machine{
		CPU: cpu.Name, Vendor: cpu.Vendor, Family: cpu.Family, Model: cpu.Model, Stepping: cpu.Stepping,
		March: cpu.March, Year: cpu.Year, TDP: cpu.TDP, Sockets: cpu.Sockets, Processors: cpu.Processors,
		Kernel: sysfs.Line(root.Proc("sys/kernel/osrelease")), Virtual: cpu.Virtual, Container: containerOf(root),
	}
	if m.Hypervisor = sysfs.Line(root.Sys("hypervisor/type")); m.Hypervisor != "" {
		m.Virtual = true
	} else if m.Virtual {
		m.Hypervisor = strings.TrimSpace(sysfs.Line(root.Sys("class/dmi/id/sys_vendor")) + " " +
			sysfs.Line(root.Sys("class/dmi/id/product_name")))
	}
	return m
}

// containerOf names the kind of container that this is; "" for none that is
// known.
func containerOf(root nemb.Root) string {
	dir := root.Dir
	if dir == "" {
		dir = "/"
		if kind := os.Getenv("container"); kind != "" { // systemd's convention
			return kind
		}
	}
	for file, kind := range map[string]string{"/.dockerenv": "docker", "/run/.containerenv": "podman"} {
		if _, err := os.Stat(dir + file); err == nil {
			return kind
		}
	}
	groups, _ := os.ReadFile(root.Proc("1/cgroup"))
	for _, kind := range []string{"kubepods", "docker", "lxc", "libpod"} {
		if strings.Contains(string(groups), "/"+kind) {
			return kind
		}
	}
	return ""
}

func clockOf(root nemb.Root) ClockState {
	c := ClockState{
		Kernel:  sysfs.Line(root.Sys("devices/system/clocksource/clocksource0/current_clocksource")),
		Channel: checkpoint.SystemClock().String(),
	}
	info, _ := os.ReadFile(root.Proc("cpuinfo"))
	c.Invariant = c.Kernel == "arch_sys_counter" ||
		strings.Contains(string(info), " constant_tsc") && strings.Contains(string(info), " nonstop_tsc")
	return c
}

// capabilities that matter for measuring, by their bit
// (include/uapi/linux/capability.h).
var capabilities = []struct {
	bit  uint
	name string
}{
	{1, "cap_dac_override"}, {2, "cap_dac_read_search"}, {17, "cap_sys_rawio"}, {19, "cap_sys_ptrace"},
	{21, "cap_sys_admin"}, {23, "cap_sys_nice"}, {38, "cap_perfmon"},
}

func permissions(root nemb.Root) Permissions {
	p := Permissions{UID: os.Geteuid(), Capabilities: []string{}}
	has := map[string]bool{}
	if f, err := os.Open("/proc/self/status"); err == nil {
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "CapEff:"); ok {
				set, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
				for _, c := range capabilities {
					if set>>c.bit&1 == 1 {
						p.Capabilities, has[c.name] = append(p.Capabilities, c.name), true
					}
				}
			}
		}
		f.Close()
	}
	if n, err := sysfs.Number(root.Proc("sys/kernel/perf_event_paranoid")); err == nil {
		p.Paranoid = &n
	}
	var limit unix.Rlimit
	p.Realtime = has["cap_sys_nice"] || unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit) == nil && limit.Cur > 0
	return p
}

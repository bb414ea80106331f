package node

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb/processor"
	"cg/ranks"
)

// mostSamples is how many samples a record has at most; when there are more, every other
// one is left out from then on.
const mostSamples = 2048

// sample adds the state to the samples of the record.
func (m *measurer) sample() {
	x := m.divider
	s := ranks.Sample{UnixNs: x.state.unix, CgCPUNs: x.state.own, OtherCPUNs: x.state.other}
	for _, r := range x.state.results {
		s.RanksCPUNs += r.cpu
	}
	for _, l := range x.state.ledgers {
		s.EnergyUj = append(s.EnergyUj, l.total)
	}
	n := &m.record
	if k := len(n.Samples); k > 0 && n.Samples[k-1].UnixNs >= s.UnixNs {
		return
	}
	n.Samples = append(n.Samples, s)
	if len(n.Samples) < mostSamples {
		return
	}
	kept := n.Samples[:0]
	for i := 0; i < len(n.Samples); i += 2 {
		kept = append(kept, n.Samples[i])
	}
	n.Samples = kept
	m.stride *= 2
}

// put writes the record. One that cannot be written now is written the next time.
func (m *measurer) put() error {
	n, x := &m.record, m.divider
	n.UpdatedUnixNs, n.UpdatedMonoNs = x.state.unix, x.state.mono
	n.Domains = n.Domains[:0]
	for d, l := range x.state.ledgers {
		domain := m.domains[d]
		n.Domains = append(n.Domains, ranks.Domain{
			ID: domain.ID, Parent: domain.Parent, Kind: domain.Kind, Source: domain.Source,
			Method: string(domain.Method), InTotal: domain.InTotal, Lo: domain.Lo, Hi: domain.Hi,
			TotalUj: l.total, RanksUj: l.ranks, OtherUj: l.other,
			IdleUj: l.idle, CgUj: l.own, UnattributedUj: l.unattributed, GPUMethod: m.gpuMethod(d),
		})
	}
	names := map[uint64]string{stateRunning: ranks.Running, stateSettled: ranks.Settled, stateLost: ranks.Lost}
	n.Ranks = n.Ranks[:0]
	for s, r := range x.state.results {
		n.Ranks = append(n.Ranks, ranks.Share{Rank: int(m.board.slot(s, slotRank)) - 1,
			PID: int(m.board.slot(s, slotPID)), State: names[r.state], CPUNs: r.cpu, ShareUj: r.shares,
			LessUj: r.less, MoreUj: r.more})
	}
	if m.clock != nil {
		n.Offsets = m.clock.Offsets()
	}
	m.warn()
	return m.Run.PutNode(*n)
}

// sharedNode is the part of the processors' time that others use from which on a node is
// said to be shared.
const sharedNode = 0.05

// warn says what is to be known of the node's figures.
func (m *measurer) warn() {
	n, x := &m.record, m.divider
	n.Warnings = n.Warnings[:0]
	say := func(slug, format string, args ...any) {
		n.Warnings = append(n.Warnings, ranks.Warning{Slug: slug, Message: fmt.Sprintf(format, args...)})
	}
	for _, d := range slices.Sorted(maps.Keys(x.gpus)) {
		m.warnOfGPU(x.gpus[d], say)
	}
	running := len(x.state.results)
	if running > m.cpus {
		say("oversubscribed", "node %s: %d ranks share %d processors: a rank that waits for another may use the "+
			"processor that the other needs; start at most as many ranks as there are processors", m.Node, running,
			m.cpus)
	}
	wall := time.Duration(x.state.mono - int64(checkpoint.Instant(x.windows.First().Time)))
	if wall > time.Second {
		if part := x.other.Seconds() / (wall.Seconds() * float64(n.CPUs)); part > sharedNode {
			say("node-shared", "node %s: processes that are no ranks of this run used %.0f %% of its processors: "+
				"their part of its energy is divided by processor time, too; ask for the node alone (--exclusive)",
				m.Node, 100*part)
		}
	}
}

// spread lets this process use all processors that it may: a launcher binds a rank to some,
// and its children with it. It returns how many these are.
func spread() int {
	online := processor.Online()
	var all, set unix.CPUSet
	for cpu := range len(all) * 64 {
		all.Set(cpu)
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			unix.SchedSetaffinity(tid, &all)
		}
	}
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0 {
		return min(online, set.Count())
	}
	return online
}

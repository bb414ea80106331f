package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/folders"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/experiment"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/node"
	"cg/ranks"
	"cg/runtimes"
	"cg/version"
)

// ranksFlag is the flag of commands whose program may be a rank of a run.
func ranksFlag() cli.Flag {
	return &cli.StringFlag{Name: "ranks",
		Usage: "measure the program as one rank of a run that mpirun, srun or torchrun started, and write " +
			"into `DIR`, which all ranks share"}
}

// alone are the flags that make no sense for one rank of many.
var alone = []string{"output", "json", "keep-source", "benchfmt", "export-plot", "export-csv", "export-markdown",
	"export-metrics", "events", "repeat", "warmup", "include-warmup", "command", "prepare", "budget", "per",
	"ignore-failure", "show-output", "shell"}

// rankRun is a rank of a run: its file in the run's folder, and its place on its node.
type rankRun struct {
	folder *ranks.Folder
	rank   ranks.Rank
	member *node.Member
	calls  string // the folder for calls of MPI, "" without
	done   bool
}

// joinRanks makes this process a rank, nil without --ranks. dir is the folder of this run of cg.
func joinRanks(ctx context.Context, c *cli.Context, interval time.Duration, dir string) (*rankRun, error) {
	name := c.String("ranks")
	if name == "" {
		return nil, nil
	}
	for _, flag := range alone {
		if flags.Given(c, flag) {
			return nil, exit.Usage("--ranks: each rank writes its report into %s, so --%s does not go with it: "+
				"cg report %s makes other formats of all ranks", name, flag, name)
		}
	}
	id, err := ranks.Identify(os.Getenv)
	if err != nil {
		return nil, exit.Usage("--ranks: %w", err)
	}
	r := &rankRun{}
	if name, err = filepath.Abs(name); err != nil {
		return nil, exit.Self("--ranks: %w", err)
	}
	if r.folder, err = ranks.Create(name, version.Cg, id); err != nil {
		return nil, exit.Self("%w", err)
	}
	host, _ := os.Hostname()
	now := time.Now().UnixNano()
	r.rank = ranks.Rank{Format: ranks.Version, CgVersion: version.Cg, Identity: id, Hostname: host,
		BootID: ranks.BootID(), PID: os.Getpid(), State: ranks.Running, StartedUnixNs: now,
		StartedMonoNs: int64(checkpoint.Monotime()), CPUs: processors(), ShareUj: map[string]uint64{},
		Warnings: []ranks.Warning{}}
	if err := r.folder.Begin(r.rank); err != nil {
		return nil, exit.Self("%w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	r.member, err = node.Join(ctx, node.Joining{Run: r.folder, Identity: id, Interval: interval,
		Measurer: func(board string) *exec.Cmd {
			return exec.Command(self, measurerArgs(c, r.folder.Dir, board, id)...)
		}})
	switch {
	case ctx.Err() != nil:
		err = exit.With(128+int(exit.Interrupted(ctx)), "interrupted before the program was started")
	case err != nil:
		err = exit.Self("%w", err)
	}
	if err != nil {
		r.leave()
		return nil, err
	}
	r.rank.Record = r.member.Record()
	if err := r.folder.PutRank(r.rank); err != nil {
		r.leave()
		return nil, exit.Self("%w", err)
	}
	if id.Launcher == ranks.Nobody {
		tell.Warn("--ranks: no launcher is known here, so this is rank 0 of 1: start cg with mpirun, srun or " +
			"torchrun, or set CG_RANK and CG_SIZE")
	}
	return r, r.followMPI(ctx, dir)
}

// measurerArgs are the arguments of the measurer that a rank starts.
func measurerArgs(c *cli.Context, dir, board string, id ranks.Identity) []string {
	args := []string{"measurer", "--ranks", dir, "--board", board, "--node", id.Node, "--precision",
		c.String("precision")}
	for _, s := range c.StringSlice("sensors") {
		args = append(args, "--sensors", s)
	}
	for _, level := range c.Lineage() {
		if root := level.String("sysroot"); root != "" {
			args = append(args, "--sysroot", root)
			break
		}
	}
	for _, f := range flags.OfController() {
		if name := f.Names()[0]; c.String(name) != "" {
			args = append(args, "--"+name, c.String(name))
		}
	}
	if idle := c.String("baseline"); idle != "" {
		args = append(args, "--baseline", idle)
	}
	return args
}

// machine is where the program is measured: the sensors of a rank are its shares.
func (r *rankRun) machine(ctx context.Context, c *cli.Context) (*machine.Opened, error) {
	if r == nil {
		return machine.Open(ctx, c)
	}
	root, err := machine.Root(c)
	if err != nil {
		return nil, err
	}
	return &machine.Opened{Root: root, Found: nemb.Found{Sensors: []nemb.Sensor{r.member.Sensor()}}}, nil
}

// share is what the program has of its node, nil for one that is no rank.
func (r *rankRun) share() *node.Member {
	if r == nil {
		return nil
	}
	return r.member
}

// write writes what came of the rank and returns what cg ends with.
func (r *rankRun) write(ctx context.Context, x *experiment.Result) error {
	outcome := x.Outcome
	shares, cpu, settled := r.member.Shares()
	rank := &r.rank
	rank.ShareUj, rank.CPUNs, rank.Settled = shares, int64(cpu), settled
	rank.StartedMonoNs, rank.EndedMonoNs = int64(outcome.Begin), int64(outcome.End)
	now, at := checkpoint.Monotime(), time.Now().UnixNano()
	rank.StartedUnixNs, rank.EndedUnixNs = at-int64(now-outcome.Begin), at-int64(now-outcome.End)
	if rank.CPUsEnd = processors(); !slices.Equal(rank.CPUs, rank.CPUsEnd) {
		r.warn("rank-moved", "rank %d: it was bound to the processors %v when it started and to %v at its end: its "+
			"shares are right, and figures by processor are not", rank.Rank, rank.CPUs, rank.CPUsEnd)
	}
	if !settled {
		r.warn("share-unsettled", "rank %d: the measurer of node %s did not divide its last window within %v: the "+
			"share in the node's record counts, and this report may have less", rank.Rank, rank.Node, node.Patience)
	}
	total := uint64(0)
	if e := x.Run.Totals.EnergyJ; e != nil {
		total = uint64(*e)
	}
	if r.calls != "" {
		rank.MPI = ranks.ReadMPI(r.calls, total, rank.CPUNs)
	}
	rank.Slurm = ranks.AskSlurm(ctx, rank.Identity, time.Unix(0, rank.StartedUnixNs))
	x.Run.WarnOfRanks(rank.Warnings)
	b, err := x.Run.JSON()
	if err == nil {
		err = r.folder.PutRun(rank.Rank, b)
	}
	if outcome.Running {
		outcome.Result = outcome.Wait()
	}
	rank.ExitStatus = outcome.Result.Status
	if !outcome.Result.Exited && outcome.Result.Signal != 0 {
		rank.Signal = unix.SignalName(outcome.Result.Signal)
	}
	if err == nil {
		rank.Run = ranks.RunFile(rank.Rank)
	}
	err = errors.Join(err, r.leave())
	if err != nil {
		return exit.Self("%w; the program's own status was %d", err, outcome.Result.Status)
	}
	if x.Nothing != "" && outcome.Result.Status == 0 {
		return exit.Self("nothing was instrumented: %s", x.Nothing)
	}
	return exit.Of(outcome.Result.Status)
}

// followMPI lets a library ride in the program that counts its time in MPI. Without a C
// compiler there is none, and that is said.
func (r *rankRun) followMPI(ctx context.Context, dir string) error {
	if !slices.Contains([]string{ranks.OpenMPI, ranks.MPICH, ranks.Slurm}, r.rank.Launcher) {
		return nil
	}
	cache, _ := folders.Cache()
	library, _, err := runtimes.Library(ctx, "mpi.c", cache, dir)
	if err != nil {
		if r.rank.Rank == 0 {
			tell.Warnf("time in MPI is not counted: %v", err)
		}
		return nil
	}
	r.calls = filepath.Join(dir, "mpi")
	if err := os.Mkdir(r.calls, 0o700); err != nil {
		return exit.Self("%w", err)
	}
	os.Setenv(ranks.MPIVariable, r.calls)
	if others := os.Getenv("LD_PRELOAD"); others != "" {
		library += ":" + others
	}
	os.Setenv("LD_PRELOAD", library)
	return nil
}

func (r *rankRun) warn(slug, format string, args ...any) {
	r.rank.Warnings = append(r.rank.Warnings, ranks.Warning{Slug: slug, Message: fmt.Sprintf(format, args...)})
}

// leave writes the rank's file and ends its membership, once.
func (r *rankRun) leave() error {
	if r == nil || r.done {
		return nil
	}
	r.done = true
	r.rank.State = ranks.Ended
	if r.rank.EndedUnixNs == 0 {
		r.rank.EndedUnixNs, r.rank.EndedMonoNs = time.Now().UnixNano(), int64(checkpoint.Monotime())
	}
	err := r.folder.PutRank(r.rank)
	if r.member != nil {
		r.member.Leave()
	}
	return err
}

// processors are those that this process may use.
func processors() []int {
	var set unix.CPUSet
	all := []int{}
	if unix.SchedGetaffinity(0, &set) != nil {
		return all
	}
	for cpu := range 64 * len(set) {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all
}

// measurerCommand measures a node for its ranks: what the first of them starts.
func measurerCommand() *cli.Command {
	return &cli.Command{
		Name:   "measurer",
		Hidden: true,
		Usage:  "measure a node for the ranks on it",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "board", Usage: "what the ranks of the node share lies in `DIR`"},
			&cli.StringFlag{Name: "ranks", Usage: "the folder of the run is `DIR`"},
			&cli.StringFlag{Name: "node", Usage: "the node is called `NAME`"},
			&cli.StringFlag{Name: "precision", Value: "medium", Usage: "sampling interval (`TIME`)"},
			&cli.StringSliceFlag{Name: "sensors", Usage: "use only these `SENSORS`"},
			baselineFlag(),
			flags.Sysroot(),
		},
		Action: runMeasurer,
	}
}

func runMeasurer(c *cli.Context) error {
	// Who ends or stops a rank by its group does not mean the node: the measurer goes on
	// until all ranks have ended.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN,
		unix.SIGTTOU)
	releaseInherited()
	interval, err := flags.Precision(c.String("precision"))
	if err != nil {
		return exit.Usage("-p: %w", err)
	}
	span, err := baselineTime(c.String("baseline"))
	if err != nil {
		return exit.Usage("--baseline: %w", err)
	}
	run, err := ranks.Open(c.String("ranks"))
	if err != nil {
		return exit.Self("%w", err)
	}
	here, err := machine.Open(c.Context, c)
	if err != nil {
		return err
	}
	defer here.Close()
	if len(here.Found.Sensors) == 0 {
		return exit.Self("nothing can be sampled here%s", machine.Because(slices.Concat(here.Found.Denied,
			here.Found.Hung)))
	}
	here.RecallIdle()
	idle, _, err := here.Idle(c.Context, interval, span)
	if err != nil {
		return err
	}
	err = node.Measure(node.Config{Dir: c.String("board"), Run: run, Node: c.String("node"), Version: version.Cg,
		Sensors: here.Found.Sensors, Interval: interval, CPUModel: here.Root.CPU().Name, Idle: idle.Set})
	if err != nil {
		return exit.Self("%w", err)
	}
	return nil
}

// releaseInherited closes pipes and sockets that this process has from the rank that
// started it: a launcher waits for their end.
func releaseInherited() {
	const lock = 3
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		to, _ := os.Readlink("/proc/self/fd/" + f.Name())
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > lock &&
			(strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "socket:")) {
			unix.Close(fd)
		}
	}
}

// runRank is cg run --ranks: it runs a command once, as a rank.
func runRank(c *cli.Context) error {
	s, err := seriesOptions(c)
	if err != nil {
		return err
	}
	if len(s.commands) > 1 {
		return exit.Usage("--ranks is for one command: -c once, and a value for each parameter")
	}
	planned := s.commands[0]
	account.Prepare()
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	folder, err := folders.Run()
	if err != nil {
		return exit.Self("no place for the run's files: %w (set TMPDIR to a folder that can be written)", err)
	}
	defer folder.Remove()
	rank, err := joinRanks(ctx, c, s.interval, folder.Path)
	if err != nil {
		return err
	}
	defer rank.leave()
	offered := offer(folder.Path)
	here, err := rank.machine(ctx, c)
	if err != nil {
		return err
	}
	defer here.Close()
	command := launcher.Cmd{Args: planned.argv, Pty: launcher.Never, Timeout: s.timeout, Env: offered()}
	if planned.stdin != "" {
		if command.Stdin, err = os.Open(planned.stdin); err != nil {
			return exit.Usage("--stdin: %w", err)
		}
		defer command.Stdin.Close()
	}
	conditions, done := here.Conditions(s.interval)
	defer done()
	conditions.Noise, conditions.Share = s.noise, rank.share()
	r, err := experiment.Plain{Conditions: conditions, Command: command, Name: strings.Join(planned.argv, " ")}.Run()
	if err != nil {
		return exit.Refused(err)
	}
	defer r.Close()
	return rank.write(ctx, r)
}

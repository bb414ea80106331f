package monitor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/monitor"
	"cg/nemb/population"
)

// signals ends ctx by the signals that end cg monitor. A hang-up is one of them where cg has a
// terminal, unless it is ignored, as below nohup; without a terminal it says that the settings are to be
// read again.
func signals(c *cli.Context) (ctx context.Context, hangup chan os.Signal, stop func()) {
	ends := []os.Signal{unix.SIGINT, unix.SIGTERM}
	hangup = make(chan os.Signal, 1)
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		if !signal.Ignored(unix.SIGHUP) {
			ends = append(ends, unix.SIGHUP)
		}
	} else {
		signal.Notify(hangup, unix.SIGHUP)
	}
	ctx, release := signal.NotifyContext(c.Context, ends...)
	return ctx, hangup, func() {
		release()
		signal.Stop(hangup)
	}
}

// reload takes the settings anew that can change while cg monitor runs. What the command line says
// stays. Where something is wrong, all stays as it is.
func (o *outputs) reload(c *cli.Context, session *monitor.Session, s flags.Settings) {
	if err := o.reloaded(c, session, s); err != nil {
		tell.Warnf("the settings stay as they are: %v", err)
		return
	}
	tell.Notef("the settings were read again")
}

func (o *outputs) reloaded(c *cli.Context, session *monitor.Session, s flags.Settings) error {
	of, err := s.Read(c)
	if err != nil {
		return err
	}
	r := &rereading{c: c, of: of}
	most, top := r.whole("max-labels"), r.whole("top")
	to := brokerWanted{r.text("mqtt"), r.text("mqtt-prefix"), r.whole("mqtt-qos")}
	targets := r.targets(o.targets)
	switch {
	case r.err != nil:
		return r.err
	case most < 0:
		return fmt.Errorf("max-labels: %d: use 0 or more", most)
	case top < 0:
		return fmt.Errorf("top: %d: use 0 or more", top)
	}
	if to.url != o.sends.url || to.url != "" && to != o.sends {
		before := o.broker
		if to.url == "" {
			o.broker, o.sends = nil, brokerWanted{}
		} else if err := o.connect(to); err != nil {
			return fmt.Errorf("mqtt: %w", err)
		}
		if before != nil { // readings go on while it sends what it has
			after := o.broker
			o.leaving.Go(func() {
				if lost := before.Close(exit.SenderPatience); lost > 0 {
					tell.Warnf("--mqtt: %d rows were not sent", lost)
				}
				if after != nil { // both may have one state at one broker
					after.Announce(exit.SenderPatience)
				}
			})
		}
	}
	o.top = top
	if o.exporter != nil {
		o.exporter.SetMost(most)
	}
	if o.collector != nil {
		o.collector.SetMost(most)
	}
	session.Retarget(targets)
	o.targets = targets
	return nil
}

// rereading reads settings again.
type rereading struct {
	c   *cli.Context
	of  func(f cli.Flag) (texts []string, ok bool)
	err error // the first
}

// texts is the value of a setting: that of the command line, or else of the settings, or else the
// flag's own.
func (r *rereading) texts(name string) []string {
	i := slices.IndexFunc(r.c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == name })
	f := r.c.Command.Flags[i]
	if flags.Given(r.c, name) {
		if _, several := f.(*cli.StringSliceFlag); several {
			return r.c.StringSlice(name)
		}
		return []string{fmt.Sprint(r.c.Value(name))}
	}
	if texts, ok := r.of(f); ok {
		return texts
	}
	if whole, is := f.(*cli.IntFlag); is {
		return []string{strconv.Itoa(whole.Value)}
	}
	return nil
}

func (r *rereading) text(name string) string {
	if all := r.texts(name); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (r *rereading) whole(name string) int {
	text := r.text(name)
	v, err := strconv.Atoi(text)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: %q is not a whole number", name, text)
	}
	return v
}

// targets are those of the command line and of the settings. Those that there were are not looked for
// again: they may have ended.
func (r *rereading) targets(before []monitor.Target) (all []monitor.Target) {
	host, err := population.Open(population.Config{}) // another than the session's, which goes on
	if err != nil {
		r.err = cmp.Or(r.err, err)
		return nil
	}
	defer host.Close()
	resolve := func(kind monitor.Kind, name string) {
		if strings.TrimSpace(name) == "" {
			r.err = cmp.Or(r.err, fmt.Errorf("%s: it has no name", kind))
			return
		}
		for _, t := range before {
			if t.Kind == kind && t.Name == name {
				all = append(all, t)
				return
			}
		}
		t, err := monitor.Resolve(host, "", kind, name, 0)
		if err != nil {
			r.err = cmp.Or(r.err, fmt.Errorf("%s: %w", kind, err))
		}
		all = append(all, t)
	}
	for _, t := range before {
		if t.Kind == monitor.PID {
			all = append(all, t)
		}
	}
	for _, kind := range []monitor.Kind{monitor.Cgroup, monitor.Unit, monitor.Container} {
		for _, name := range r.texts(string(kind)) {
			resolve(kind, name)
		}
	}
	return all
}

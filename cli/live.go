package cli

import (
	"fmt"
	"os"

	"github.com/mattn/go-runewidth"

	"cg/cli/tell"
	"cg/launcher"
	"cg/measure"
	"cg/nemb"
	"cg/report"
	"cg/report/figures"
	"cg/shown"
)

// liveLine shows a run that goes on in a line of the terminal.
type liveLine struct {
	line  *launcher.Line
	shown bool // or said why not
}

// newLiveLine is nil where standard error is no terminal.
func newLiveLine() *liveLine {
	if l := launcher.NewLine(os.Stderr); l != nil {
		return &liveLine{line: l}
	}
	return nil
}

// follow is what a run tells its progress, nil for nothing.
func (l *liveLine) follow() func(measure.Progress) {
	if l == nil {
		return nil
	}
	return func(p measure.Progress) {
		if !l.shown && !l.line.Usable() {
			tell.Say("--live shows nothing: the program writes to the terminal itself. It needs its standard output " +
				"there, and a terminal of its own (--pty)")
		}
		l.shown = true
		l.line.ShowFitted(func(columns int) string { return shown.Line(liveText(p, columns)) })
	}
}

// on is the line for the launcher, nil for none.
func (l *liveLine) on() *launcher.Line {
	if l == nil {
		return nil
	}
	return l.line
}

// liveName is how many columns a function's name needs at least, so that it tells anything.
const liveName = 6

// liveText is what the line says in so many columns. A name that has no room is cut at its front.
func liveText(p measure.Progress, columns int) string {
	mark := report.Mark(p.Method)
	text := fmt.Sprintf("cg: %s", figures.Seconds(p.Elapsed.Seconds()))
	if p.Method != nemb.Unavailable {
		text = fmt.Sprintf("cg: Machine %s%s", mark, figures.Energy(&p.Energy))
		if p.Power > 0 {
			text += fmt.Sprintf("  Power %s%s", mark, figures.Watts(&p.Power))
		}
		text += fmt.Sprintf("  Time %s", figures.Seconds(p.Elapsed.Seconds()))
	}
	if p.Most.ID == 0 {
		return text
	}
	const most = "  most in "
	name := shown.Line(p.Most.Func)
	wide, room := runewidth.StringWidth(name), columns-runewidth.StringWidth(text+most)
	switch {
	case wide <= room:
		return text + most + name
	case room >= liveName:
		return text + most + runewidth.TruncateLeft(name, wide-room+1, "…")
	}
	return text
}

// clearing takes the line away before something else is said.
func (l *liveLine) clearing(say func(files int)) func(files int) {
	if l == nil || say == nil {
		return say
	}
	return func(files int) {
		l.line.Clear()
		say(files)
	}
}

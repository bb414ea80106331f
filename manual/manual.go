// Package manual writes what a program says of its own use: help for a terminal, man pages, and
// completion for bash, zsh and fish.
//
// It takes one table, the commands with their flags, and returns texts. All texts come from the
// same table. It knows no command by name.
package manual

import (
	"strings"
	"unicode/utf8"
)

// Command is a command, or the program itself.
type Command struct {
	Path        string // as it is typed: "cg measure"
	Usage       string // one line
	Arguments   string // behind the flags: "[LANG] TARGET [ARGS...]"
	Description string // paragraphs; lines that begin with a blank stay as they are
	Groups      []Group
	Commands    []Command
	Hidden      bool
	Words       []string // what the first argument can be besides a file
	NoFiles     bool     // no argument is a file
}

// Group is flags under a title.
type Group struct {
	Title string
	Flags []Flag
}

// Flag is a flag with all of its names.
type Flag struct {
	Names   []string // as they are typed: -o, --output
	Value   string   // what its value is called, "" where it takes none
	Usage   string
	Default string   // "" for none, and for what nobody has to be told
	Words   []string // what the value can be
	Again   bool     // it may be given several times
}

// Name is the last word of a command's path.
func (c Command) Name() string { return c.Path[strings.LastIndexByte(c.Path, ' ')+1:] }

// visible are the commands of a command that are shown.
func (c Command) visible() (shown []Command) {
	for _, s := range c.Commands {
		if !s.Hidden {
			shown = append(shown, s)
		}
	}
	return shown
}

// flags are all flags of a command.
func (c Command) flags() (all []Flag) {
	for _, g := range c.Groups {
		all = append(all, g.Flags...)
	}
	return all
}

// All are a command and all below it that are shown.
func (c Command) All() []Command {
	all := []Command{c}
	for _, s := range c.visible() {
		all = append(all, s.All()...)
	}
	return all
}

// files and folders are what values are called that name one.
var files, folders = []string{"FILE", "PATH", "JAR"}, []string{"DIR"}

// synopsis is how a command is typed.
func (c Command) synopsis() string {
	text := c.Path
	if len(c.flags()) > 0 {
		text += " [FLAGS]"
	}
	switch {
	case c.Arguments != "":
		text += " " + c.Arguments
	case len(c.visible()) > 0:
		text += " COMMAND"
	}
	return text
}

// usage is what a flag does, with its default.
func (f Flag) usage() string {
	text := f.Usage
	if f.Again {
		text += "; may be given again"
	}
	if f.Default != "" {
		text += " (default: " + f.Default + ")"
	}
	return text
}

// columns of a help text: of its indent, and of names that stand beside what they mean.
const indent, beside = 2, 24

// Help is the help of a command for a terminal of so many columns.
func (c Command) Help(width int) string {
	width = min(max(width, 40), 100)
	var b strings.Builder
	b.WriteString("usage: " + c.synopsis() + "\n\n" + filled(c.Usage, 0, width) + "\n")
	if c.Description != "" {
		b.WriteString("\n" + paragraphs(c.Description, width))
	}
	if shown := c.visible(); len(shown) > 0 {
		b.WriteString("\ncommands:\n")
		for _, s := range shown {
			b.WriteString(Entry(s.Name(), s.Usage, width))
		}
	}
	for _, g := range c.Groups {
		if len(g.Flags) == 0 {
			continue
		}
		b.WriteString("\n" + g.Title + ":\n")
		for _, f := range g.Flags {
			names := strings.Join(f.Names, ", ")
			if f.Value != "" {
				names += " " + f.Value
			}
			b.WriteString(Entry(names, f.usage(), width))
		}
	}
	return b.String()
}

// Entry is a name with what it means: beside it, or below where the name is long.
func Entry(name, text string, width int) string {
	at := strings.Repeat(" ", indent)
	if n := utf8.RuneCountInString(name); n+indent < beside {
		lines := filled(text, beside+indent, width)
		return at + name + strings.Repeat(" ", beside-n) + strings.TrimLeft(lines, " ") + "\n"
	}
	return at + name + "\n" + filled(text, beside+indent, width) + "\n"
}

// Row is a line of a table whose last column is a text, which goes on below itself.
func Row(before, text string, width int) string {
	return before + strings.TrimLeft(filled(text, utf8.RuneCountInString(before), width), " ") + "\n"
}

// filled breaks a text into lines of a width, each behind an indent.
func filled(text string, indent, width int) string {
	var lines []string
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if line != "" && indent+length+1+n > width {
			lines = append(lines, line)
			line, length = "", 0
		}
		if line != "" {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	at := strings.Repeat(" ", indent)
	return at + strings.Join(append(lines, line), "\n"+at)
}

// block is a part of a description: lines that stay, or a paragraph.
type block struct {
	lines []string
	fixed bool
}

// blocks are the parts of a description.
func blocks(text string) (all []block) {
	fresh := true
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimRight(line, " ")
		fixed := strings.HasPrefix(line, " ")
		switch {
		case line == "":
			fresh = true
			continue
		case fresh || all[len(all)-1].fixed != fixed:
			all = append(all, block{fixed: fixed})
		}
		fresh = false
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
	}
	return all
}

// paragraphs is a description for a width.
func paragraphs(text string, width int) string {
	var parts []string
	for _, b := range blocks(text) {
		if b.fixed {
			parts = append(parts, strings.Join(b.lines, "\n")+"\n")
			continue
		}
		parts = append(parts, filled(strings.Join(b.lines, " "), 0, width)+"\n")
	}
	return strings.Join(parts, "\n")
}

package manual

import (
	"fmt"
	"slices"
	"strings"
)

// Shells are those that have completion.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion is the script with which a shell completes the program and all of its commands. It is
// "" for a shell that is not among Shells.
func (c Command) Completion(shell string) string {
	switch shell {
	case "bash":
		return c.bash()
	case "zsh":
		return c.zsh()
	case "fish":
		return c.fish()
	}
	return ""
}

// below is a command's path without the program's name.
func (c Command) below() string {
	_, path, _ := strings.Cut(c.Path, " ")
	return path
}

// words are the names of the commands of a command, and what else its first argument can be.
func (c Command) words() []string {
	var all []string
	for _, s := range c.visible() {
		all = append(all, s.Name())
	}
	return append(all, c.Words...)
}

// quoted is a text between single quotes, as sh, bash, zsh and fish take it. A quote in it becomes
// a typographic one, because fish escapes it in another way.
func quoted(text string) string {
	return "'" + strings.NewReplacer("'", "’", `\`, "/", "\n", " ").Replace(text) + "'"
}

// pathCase are the lines of a case that finds out which command is meant: a word behind a command.
func (c Command) pathCase(format string) string {
	var b strings.Builder
	for _, s := range c.All()[1:] {
		parent, _, is := strings.Cut(s.below(), " "+s.Name())
		if !is {
			parent = ""
		}
		fmt.Fprintf(&b, format, quoted(strings.TrimSpace(parent+":"+s.Name())), quoted(s.below()))
	}
	return b.String()
}

// valueFlags are the flags of the program itself that take a value: the word behind them is no command.
func (c Command) valueFlags() string {
	var names []string
	for _, f := range c.flags() {
		if f.Value != "" {
			names = append(names, f.Names...)
		}
	}
	if len(names) == 0 {
		return "--"
	}
	return strings.Join(names, "|")
}

// bash uses the programmable completion of bash 4 and later (bash(1), Programmable Completion).
func (c Command) bash() string {
	var values, flags, words strings.Builder
	for _, s := range c.All() {
		var names []string
		for _, f := range s.flags() {
			names = append(names, f.Names...)
			if f.Value == "" {
				continue
			}
			do := "return ;;"
			switch {
			case len(f.Words) > 0:
				do = "_" + c.Path + "_words " + quoted(strings.Join(f.Words, " ")) + "; return ;;"
			case slices.Contains(folders, f.Value):
				do = "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;"
			}
			for _, n := range f.Names {
				fmt.Fprintf(&values, "    %s) %s\n", quoted(s.below()+":"+n), do)
			}
		}
		fmt.Fprintf(&flags, "    %s) _%s_words %s ;;\n", quoted(s.below()), c.Path, quoted(strings.Join(names, " ")))
		if w := s.words(); len(w) > 0 {
			fmt.Fprintf(&words, "    %s) _%s_words %s ;;\n", quoted(s.below()), c.Path, quoted(strings.Join(w, " ")))
		}
	}
	return strings.NewReplacer("PROGRAM", c.Path, "VALUEFLAGS", c.valueFlags(),
		"PATHS\n", c.pathCase("        %s) path=%s ;;\n"), "VALUES\n", values.String(), "FLAGS\n", flags.String(),
		"WORDS\n", words.String()).Replace(bashFrame)
}

// The last word is completed as a file where the function offers nothing (-o default).
const bashFrame = `# completion of PROGRAM for bash: source it, or keep it as
# ~/.local/share/bash-completion/completions/PROGRAM
_PROGRAM_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

_PROGRAM() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' i
  COMPREPLY=()
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) return ;;
      VALUEFLAGS) [[ -n $path ]] || ((++i)) ;;
      -*) ;;
      *)
        case $path:${COMP_WORDS[i]} in
PATHS
        esac
        ;;
    esac
  done
  case $path:$prev in
VALUES
  esac
  if [[ $cur == -* ]]; then
    case $path in
FLAGS
    esac
    return
  fi
  case $path in
WORDS
  esac
}
complete -o default -F _PROGRAM PROGRAM
`

// zsh uses its completion system (zshcompsys(1)).
func (c Command) zsh() string {
	var values, flags, words strings.Builder
	for _, s := range c.All() {
		var described []string
		for _, f := range s.flags() {
			for _, n := range f.Names {
				described = append(described, quoted(n+":"+strings.ReplaceAll(f.Usage, ":", ";")))
			}
			if f.Value == "" {
				continue
			}
			do := "_message " + quoted(f.Value)
			switch {
			case len(f.Words) > 0:
				do = "compadd -- " + strings.Join(f.Words, " ")
			case slices.Contains(files, f.Value):
				do = "_files"
			case slices.Contains(folders, f.Value):
				do = "_files -/"
			}
			for _, n := range f.Names {
				fmt.Fprintf(&values, "    %s) %s; return ;;\n", quoted(s.below()+":"+n), do)
			}
		}
		fmt.Fprintf(&flags, "      %s) all=(%s) ;;\n", quoted(s.below()), strings.Join(described, " "))
		var named []string
		for _, below := range s.visible() {
			named = append(named, quoted(below.Name()+":"+strings.ReplaceAll(below.Usage, ":", ";")))
		}
		for _, w := range s.Words {
			named = append(named, quoted(w))
		}
		if len(named) > 0 {
			fmt.Fprintf(&words, "    %s) all=(%s); _describe word all ;;\n", quoted(s.below()), strings.Join(named, " "))
		}
	}
	return strings.NewReplacer("PROGRAM", c.Path, "VALUEFLAGS", c.valueFlags(),
		"PATHS\n", c.pathCase("        %s) at=%s ;;\n"), "VALUES\n", values.String(), "FLAGS\n", flags.String(),
		"WORDS\n", words.String(), "NOFILES", c.withoutFiles()).Replace(zshFrame)
}

// withoutFiles are patterns of a case: the commands of which no argument is a file.
func (c Command) withoutFiles() string {
	var all []string
	for _, s := range c.All() {
		if s.NoFiles {
			all = append(all, quoted(s.below()))
		}
	}
	return strings.Join(all, "|")
}

const zshFrame = `#compdef PROGRAM
# completion of PROGRAM for zsh: keep it as _PROGRAM in a folder of $fpath, or source it after compinit
_PROGRAM() {
  local cur=$words[CURRENT] prev=$words[CURRENT-1] at='' i
  local -a all
  for ((i = 2; i < CURRENT; i++)); do
    case $words[i] in
      --) _files; return ;;
      VALUEFLAGS) [[ -n $at ]] || ((++i)) ;;
      -*) ;;
      *)
        case $at:$words[i] in
PATHS
        esac
        ;;
    esac
  done
  case $at:$prev in
VALUES
  esac
  if [[ $cur == -* ]]; then
    case $at in
FLAGS
    esac
    _describe -o flag all
    return
  fi
  case $at in
WORDS
  esac
  case $at in
    NOFILES) ;;
    *) _files ;;
  esac
}
if [[ $funcstack[1] == _PROGRAM ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
`

// fish uses complete(1) of fish 3 and later.
func (c Command) fish() string {
	var b strings.Builder
	for _, s := range c.All() {
		at := fmt.Sprintf("complete -c %s -n '__%s_at \"%s\"'", c.Path, c.Path, s.below())
		if s.NoFiles {
			b.WriteString(at + " -f\n")
		}
		for _, below := range s.visible() {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", at, quoted(below.Name()), quoted(below.Usage))
		}
		if len(s.Words) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", at, quoted(strings.Join(s.Words, " ")))
		}
		for _, f := range s.flags() {
			line := at
			for _, n := range f.Names {
				if name, long := strings.CutPrefix(n, "--"); long {
					line += " -l " + name
				} else {
					line += " -s " + strings.TrimPrefix(n, "-")
				}
			}
			switch {
			case len(f.Words) > 0:
				line += " -x -a " + quoted(strings.Join(f.Words, " "))
			case slices.Contains(folders, f.Value):
				line += " -x -a '(__fish_complete_directories)'"
			case slices.Contains(files, f.Value):
				line += " -r -F"
			case f.Value != "":
				line += " -x"
			}
			b.WriteString(line + " -d " + quoted(f.Usage) + "\n")
		}
	}
	return strings.NewReplacer("PROGRAM", c.Path, "VALUEFLAGS", strings.ReplaceAll(c.valueFlags(), "|", " "),
		"PATHS\n", c.pathCase("        case %s\n          set at %s\n"), "ALL\n", b.String()).Replace(fishFrame)
}

const fishFrame = `# completion of PROGRAM for fish: keep it as ~/.config/fish/completions/PROGRAM.fish
function __PROGRAM_at --description 'whether the words so far are of this command'
  set -l at ''
  set -l skip no
  for word in (commandline -opc)[2..-1]
    if test $skip = yes
      set skip no
      continue
    end
    switch $word
      case VALUEFLAGS
        test -z "$at"; and set skip yes
      case '-*'
      case '*'
        switch "$at:$word"
PATHS
        end
    end
  end
  test "$at" = "$argv[1]"
end
complete -c PROGRAM -e
ALL
`

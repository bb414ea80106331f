package output

import (
	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/launcher"
	"cg/report/format"
	"cg/report/repeated"
)

// OpenFiles makes the files that flags name.
func OpenFiles(c *cli.Context, flags ...string) (map[string]*File, error) {
	if OnStdout(c) && launcher.Closed(1) {
		return nil, exit.Usage("standard output is closed and the figures would be lost: save them with -o FILE")
	}
	if err := Different(c, flags...); err != nil {
		return nil, err
	}
	if name := c.String("export-plot"); name != "" {
		if _, err := plotFormat(name, (*repeated.Result)(nil)); err != nil {
			return nil, err
		}
	}
	outs := map[string]*File{}
	for _, flag := range flags {
		outs[flag] = &File{Flag: "--" + flag, Name: c.String(flag)}
		if err := outs[flag].Open(); err != nil {
			for _, o := range outs {
				o.Abandon()
			}
			return nil, err
		}
	}
	return outs, nil
}

// FormatOf is the format of what a flag writes; that of export-plot is the file's.
var FormatOf = map[string]string{
	"output": "json", "save": "json", "export-csv": "csv", "export-markdown": "markdown", "junit": "junit",
	"export-metrics": "openmetrics",
}

// Written is a document as flags write it, by the flag, for those that are given.
func Written(c *cli.Context, d format.Document, flags []string) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, flag := range flags {
		if c.String(flag) == "" && !(flag == "output" && OnStdout(c)) {
			continue
		}
		name := FormatOf[flag]
		if name == "" {
			f, err := plotFormat(c.String(flag), d)
			if err != nil {
				return nil, err
			}
			name = f.Name
		}
		b, err := Formatted(name, d, format.Options{})
		if err != nil {
			return nil, err
		}
		texts[flag] = b
	}
	return texts, nil
}

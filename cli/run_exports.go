package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/launcher"
	"cg/report/format"
	"cg/report/repeated"
	"cg/shown"
)

// exports are the files that the figures go to, by the flag that names them.
var exports = []string{"output", "export-csv", "export-markdown", "export-plot", "export-metrics"}

func openExports(c *cli.Context) (map[string]*output, error) { return openFiles(c, exports...) }

// openFiles makes the files that flags name.
func openFiles(c *cli.Context, flags ...string) (map[string]*output, error) {
	if jsonOnStdout(c) && launcher.Closed(1) {
		return nil, exit.Usage("standard output is closed and the figures would be lost: save them with -o FILE")
	}
	if err := differentOutputs(c, flags...); err != nil {
		return nil, err
	}
	if name := c.String("export-plot"); name != "" {
		if _, err := plotFormat(name, (*repeated.Result)(nil)); err != nil {
			return nil, err
		}
	}
	outs := map[string]*output{}
	for _, flag := range flags {
		outs[flag] = &output{flag: "--" + flag, name: c.String(flag)}
		if err := outs[flag].open(); err != nil {
			for _, o := range outs {
				o.abandon()
			}
			return nil, err
		}
	}
	return outs, nil
}

func writeExports(c *cli.Context, outs map[string]*output, r *repeated.Result) error {
	texts, err := writtenFor(c, r, exports)
	if err != nil {
		return err
	}
	var failed []error
	for _, flag := range exports {
		if err := outs[flag].save(texts[flag]); err != nil {
			failed = append(failed, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if jsonOnStdout(c) {
		_, err = os.Stdout.Write(texts["output"])
	} else if r.Counted() {
		var laid shown.Safe
		if laid, err = text(r, os.Stdout, false); err == nil {
			err = tell.Put("%s", laid)
		}
	}
	return errors.Join(append(failed, err)...)
}

// formatOf is the format of what a flag writes; that of export-plot is the file's.
var formatOf = map[string]string{
	"output": "json", "save": "json", "export-csv": "csv", "export-markdown": "markdown", "junit": "junit",
	"export-metrics": "openmetrics",
}

// writtenFor is a document as flags write it, by the flag, for those that are given.
func writtenFor(c *cli.Context, d format.Document, flags []string) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, flag := range flags {
		if c.String(flag) == "" && !(flag == "output" && jsonOnStdout(c)) {
			continue
		}
		name := formatOf[flag]
		if name == "" {
			f, err := plotFormat(c.String(flag), d)
			if err != nil {
				return nil, err
			}
			name = f.Name
		}
		b, err := formatted(name, d, format.Options{})
		if err != nil {
			return nil, err
		}
		texts[flag] = b
	}
	return texts, nil
}

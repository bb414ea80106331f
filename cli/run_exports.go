package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"cg/cli/output"
	"cg/cli/tell"
	"cg/report/repeated"
	"cg/shown"
)

// exports are the files that the figures go to, by the flag that names them.
var exports = []string{"output", "export-csv", "export-markdown", "export-plot", "export-metrics"}

func openExports(c *cli.Context) (map[string]*output.File, error) {
	return output.OpenFiles(c, exports...)
}

func writeExports(c *cli.Context, outs map[string]*output.File, r *repeated.Result) error {
	texts, err := output.Written(c, r, exports)
	if err != nil {
		return err
	}
	var failed []error
	for _, flag := range exports {
		if err := outs[flag].Save(texts[flag]); err != nil {
			failed = append(failed, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if output.OnStdout(c) {
		_, err = os.Stdout.Write(texts["output"])
	} else if r.Counted() {
		var laid shown.Safe
		if laid, err = output.Text(r, os.Stdout, false); err == nil {
			err = tell.Put("%s", laid)
		}
	}
	return errors.Join(append(failed, err)...)
}

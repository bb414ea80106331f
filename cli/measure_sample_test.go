package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// ofSampled are the flags that do something for a program without checkpoints.
var ofSampled = strings.Fields("output json precision export-plot keep-source sensors max-depth overhead verbose live " +
	"sysroot sample pid duration rate noise-quality noise-cv noise-drop baseline carbon cost grid-zone grid-intensity " +
	"pue embodied price timeout " + strings.Join(ofStarted, " "))

// Each flag of cg measure is used or refused where a program has no checkpoints.
func TestSampledUsesOrRefusesEachFlag(t *testing.T) {
	refused := func(f cli.Flag, how string) error {
		text := "--" + f.Names()[0]
		if _, ok := f.(*cli.BoolFlag); !ok {
			text += "=1"
		}
		var err error
		app := &cli.App{Name: "cg", Commands: []*cli.Command{{
			Name: "measure", Flags: measureCommand().Flags,
			Action: func(c *cli.Context) error { err = refuseFlags(c); return nil },
		}}}
		if failed := app.Run([]string{"cg", "measure", how, text}); failed != nil {
			t.Fatal(failed)
		}
		return err
	}
	for _, f := range measureCommand().Flags {
		name := f.Names()[0]
		sampled, attached := refused(f, "--sample"), refused(f, "--pid=1")
		if used := slices.Contains(ofSampled, name); used != (sampled == nil) {
			t.Errorf("--%s with --sample: used %v, and the error is %v", name, used, sampled)
		}
		used := slices.Contains(ofSampled, name) && name != "timeout" && !slices.Contains(ofStarted, name)
		if used != (attached == nil) {
			t.Errorf("--%s with --pid: used %v, and the error is %v", name, used, attached)
		}
		if attached != nil && !strings.Contains(attached.Error(), "--"+name) {
			t.Errorf("--%s: %v", name, attached)
		}
	}
}

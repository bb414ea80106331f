package cli

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/monitor"
	"cg/monitor/metrics"
)

// openExporters opens what --serve and --textfile ask for.
func (o *monitorOutputs) openExporters(c *cli.Context) error {
	address, folder := c.String("serve"), c.String("textfile")
	most := c.Int("max-labels")
	if most < 0 {
		return fail(statusUsage, "--max-labels: %d: use 0 or more", most)
	}
	if address == "" && folder == "" {
		if c.IsSet("max-labels") {
			return fail(statusUsage, "--max-labels is for --serve and --textfile")
		}
		return nil
	}
	o.quiet = o.quiet || !o.live
	o.exporter = metrics.New(Version, newID(), most)
	if folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fail(statusUsage, "--textfile: %s is no folder: name the one of node_exporter's "+
				"--collector.textfile.directory", folder)
		}
		if err := o.exporter.WriteFile(folder); err != nil {
			return fail(statusFailure, "--textfile: %s cannot be written: %w", folder, reason(err))
		}
		o.folder = folder
	}
	if address == "" {
		return nil
	}
	whole, err := metrics.Address(address)
	if err != nil {
		return fail(statusUsage, "--serve: %w", err)
	}
	o.server, err = metrics.Serve(o.exporter, whole)
	if errors.Is(err, unix.EADDRINUSE) {
		return fail(statusFailure, "--serve: %s is in use: choose another port, or end what listens there (ss -ltnp)",
			whole)
	} else if err != nil {
		return fail(statusFailure, "--serve: %w", err)
	}
	sayf("metrics are at %s", o.server.URL)
	return nil
}

// export shows a snapshot to others.
func (o *monitorOutputs) export(s *monitor.Snapshot) error {
	if o.exporter == nil {
		return nil
	}
	o.exporter.Update(s)
	if o.server != nil {
		select {
		case err := <-o.server.Failed():
			return err
		default:
		}
	}
	if o.folder != "" {
		return o.exporter.WriteFile(o.folder)
	}
	return nil
}

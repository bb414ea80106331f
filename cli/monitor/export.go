package monitor

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/monitor"
	"cg/monitor/metrics"
	"cg/monitor/otlp"
	"cg/mqtt"
	"cg/report/usage"
	"cg/shown"
	"cg/version"
)

// openExporters opens what --serve, --textfile, --mqtt and --otlp ask for.
func (o *outputs) openExporters(c *cli.Context) error {
	for _, open := range []func(*cli.Context) error{o.openBroker, o.openSocket, o.openSpans, o.openCollector,
		o.openMetrics} {
		if err := open(c); err != nil {
			return err
		}
	}
	return nil
}

func brokerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "mqtt", Usage: "send a row for each interval to the MQTT broker at `URL`: " +
			"mqtt://[USER:PASSWORD@]HOST[:PORT], mqtts:// for TLS"},
		&cli.StringFlag{Name: "mqtt-prefix",
			Usage: "begin topics with `PREFIX`; default: cg/ and the name of this machine"},
		&cli.IntFlag{Name: "mqtt-qos", Value: 1, Usage: "quality of service `N` of the messages, 0 to 2"},
	}
}

func (o *outputs) openBroker(c *cli.Context) error {
	if c.String("mqtt") == "" {
		for _, name := range []string{"mqtt-prefix", "mqtt-qos"} {
			if flags.Given(c, name) {
				return exit.Usage("--%s is for --mqtt", name)
			}
		}
		return nil
	}
	if err := o.connect(brokerWanted{c.String("mqtt"), c.String("mqtt-prefix"), c.Int("mqtt-qos")}); err != nil {
		return exit.Usage("--mqtt: %w", err)
	}
	return nil
}

// brokerWanted is what is asked for of a broker.
type brokerWanted struct {
	url, prefix string
	qos         int
}

// connect opens what sends to a broker.
func (o *outputs) connect(to brokerWanted) (err error) {
	hostname, _ := os.Hostname()
	config := mqtt.Config{URL: to.url, Prefix: to.prefix, ID: "cg-" + flags.NewID(),
		QoS: byte(min(max(to.qos, 0), 255)), Warn: func(text string) { tell.Warnf("--mqtt: %s", text) }}
	if to.qos < 0 {
		config.QoS = 255
	}
	if config.Prefix == "" {
		config.Prefix = "cg/" + shown.OrUnknown(hostname)
	}
	config.Status = config.Prefix + "/status"
	broker, err := mqtt.Open(config)
	if err != nil {
		return err
	}
	o.broker, o.topic, o.sends = broker, config.Prefix+"/monitor", to
	o.quiet = o.quiet || !o.live
	return nil
}

// openCollector opens what --otlp asks for.
func (o *outputs) openCollector(c *cli.Context) error {
	if c.String("otlp") == "" {
		return nil
	}
	most, err := maxLabels(c)
	if err != nil {
		return err
	}
	hostname, _ := os.Hostname()
	config := otlp.Config{URL: c.String("otlp"), Version: version.Cg, Run: o.run, Host: hostname, CPU: o.cpu,
		Most: most, Warn: func(text string) { tell.Warnf("--otlp: %s", text) }}
	if o.collector, err = otlp.Open(config); err != nil {
		return exit.Usage("--otlp: %w", err)
	}
	o.quiet = o.quiet || !o.live
	return nil
}

func maxLabels(c *cli.Context) (int, error) {
	most := c.Int("max-labels")
	if most < 0 {
		return 0, exit.Usage("--max-labels: %d: use 0 or more", most)
	}
	return most, nil
}

func (o *outputs) openMetrics(c *cli.Context) error {
	address, folder := c.String("serve"), c.String("textfile")
	most, err := maxLabels(c)
	if err != nil {
		return err
	}
	if address == "" && folder == "" {
		if o.collector == nil && flags.Given(c, "max-labels") {
			return exit.Usage("--max-labels is for --serve, --textfile and --otlp")
		}
		return nil
	}
	o.quiet = o.quiet || !o.live
	o.exporter = metrics.New(version.Cg, o.run, most)
	if folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return exit.Usage("--textfile: %s is no folder: name the one of node_exporter's "+
				"--collector.textfile.directory", folder)
		}
		if err := o.exporter.WriteFile(folder); err != nil {
			return exit.Failure("--textfile: %s cannot be written: %w", folder, tell.Reason(err))
		}
		o.folder = folder
	}
	if address == "" {
		return nil
	}
	whole, err := metrics.Address(address)
	if err != nil {
		return exit.Usage("--serve: %w", err)
	}
	o.server, err = metrics.Serve(o.exporter, whole)
	if errors.Is(err, unix.EADDRINUSE) {
		return exit.Failure("--serve: %s is in use: choose another port, or end what listens there (ss -ltnp)",
			whole)
	} else if err != nil {
		return exit.Failure("--serve: %w", err)
	}
	tell.Notef("metrics are at %s", o.server.URL)
	return nil
}

// export shows a snapshot to others.
func (o *outputs) export(s *monitor.Snapshot, row *usage.Row) error {
	if o.broker != nil {
		b, err := json.Marshal(row)
		if err != nil {
			return err
		}
		o.broker.Add(o.topic, b)
	}
	if o.collector != nil {
		o.collector.Add(s)
	}
	if o.spans != nil {
		select {
		case err := <-o.spans.Failed():
			return err
		default:
		}
	}
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

package track

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/mqtt"
	"cg/track"
)

// brokerOf lists the flags of --mqtt-broker, it first.
var brokerOf = []string{"mqtt-broker", "mqtt-port", "mqtt-username", "mqtt-password", "mqtt-topic-prefix", "mqtt-qos"}

// brokerPassword is the flag of the password, and brokerPasswordVariable the variable that sets it where
// others do not see it.
const (
	brokerPassword         = "mqtt-password"
	brokerPasswordVariable = "CG_MQTT_PASSWORD"
)

func brokerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "mqtt-broker", Usage: "send rows to the MQTT broker on `HOST`, too; " +
			"mqtts://HOST for TLS"},
		&cli.IntFlag{Name: "mqtt-port", Value: 1883, Usage: "`PORT` of the broker; 8883 with TLS"},
		&cli.StringFlag{Name: "mqtt-username", Usage: "`NAME` of the user at the broker"},
		&cli.StringFlag{Name: brokerPassword, Usage: "`PASSWORD` of the user; better in CG_MQTT_PASSWORD or in a " +
			"file of settings, where others do not see it"},
		&cli.StringFlag{Name: "mqtt-topic-prefix", Value: "wattameter", Usage: "begin topics with `PREFIX`"},
		&cli.IntFlag{Name: "mqtt-qos", Value: 1, Usage: "quality of service `N` of the messages, 0 to 2"},
	}
}

// keptMessages is how many messages wait for a broker at most: of some 300 bytes each.
const keptMessages = 10000

// openBroker connects to the broker of --mqtt-broker; nil without one.
func openBroker(c *cli.Context, config *track.Config) (*mqtt.Publisher, error) {
	if c.String("mqtt-broker") == "" {
		for _, name := range brokerOf[1:] {
			if flags.Given(c, name) {
				return nil, exit.Usage("--%s is for --mqtt-broker", name)
			}
		}
		return nil, nil
	}
	if c.String("mqtt-username") == "" && c.String("mqtt-password") != "" {
		return nil, exit.Usage("--mqtt-password: say whose with --mqtt-username")
	}
	address, err := brokerAddress(c)
	if err != nil {
		return nil, exit.Usage("%w", err)
	}
	if err := mqtt.Check(mqtt.Config{URL: address, Prefix: "any"}); err != nil {
		return nil, exit.Usage("--mqtt-broker: %w", err)
	}
	qos := c.Int("mqtt-qos")
	if qos < 0 || qos > 2 {
		return nil, exit.Usage("--mqtt-qos: %d: use 0, 1 or 2", qos)
	}
	log := config.Log
	prefix := strings.TrimRight(c.String("mqtt-topic-prefix"), "/")
	broker, err := mqtt.Open(mqtt.Config{URL: address, User: c.String("mqtt-username"),
		Password: c.String("mqtt-password"), Prefix: prefix, ID: "cg-" + flags.NewID(), QoS: byte(qos),
		Kept: keptMessages, Thing: "messages",
		Warn: func(text string) { log(slog.LevelError, "--mqtt-broker: "+text) }})
	if err != nil {
		return nil, exit.Usage("--mqtt-topic-prefix: %w", err)
	}
	hostname, _ := os.Hostname()
	config.Broker = &track.Broker{Prefix: prefix, Node: hostname, Add: broker.Add}
	return broker, nil
}

// brokerAddress is the URL of a broker that is named by its host, or by a URL without or with
// a port.
func brokerAddress(c *cli.Context) (string, error) {
	host, port := c.String("mqtt-broker"), c.Int("mqtt-port")
	if port < 1 || port > 65535 {
		return "", fmt.Errorf("--mqtt-port: %d is no port: use 1 to 65535", port)
	}
	if !strings.Contains(host, "://") {
		return "mqtt://" + net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port)), nil
	}
	u, err := url.Parse(host)
	if err != nil {
		return "", fmt.Errorf("--mqtt-broker: no URL of a broker: use HOST, or mqtts://HOST for TLS")
	}
	if u.Port() == "" && c.IsSet("mqtt-port") {
		u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(port))
	}
	return u.String(), nil
}

// closeBroker sends what waits, for a while.
func closeBroker(broker *mqtt.Publisher, log func(slog.Level, string)) {
	if broker == nil {
		return
	}
	if lost := broker.Close(exit.SenderPatience); lost > 0 {
		log(slog.LevelError, fmt.Sprintf("--mqtt-broker: %d messages were not sent", lost))
	}
}

// Package mqtt sends messages to an MQTT broker (MQTT 3.1.1).
//
// It takes messages, each with its topic, and publishes them in their order. A topic of the
// publisher's state is "online" or, by the broker when the connection breaks, "offline"; it is
// retained. Nobody waits for the broker: messages are kept while it is away, so many at most,
// then the oldest are dropped and counted.
package mqtt

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// Config says where messages go to.
type Config struct {
	// URL is mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts:// for TLS.
	URL string
	// User and Password come before those of the URL.
	User, Password string
	Prefix         string // of the topics; Open only checks it
	Status         string // topic of the publisher's state, "" for none
	ID             string // of the client, unique at the broker
	QoS            byte   // 0, 1 or 2
	Kept           int    // messages that wait at most; 0 is 1000
	Thing          string // what a message is, for Warn; "" is rows
	// Warn gets what the user should know: that the broker is away, and that it is back.
	Warn func(string)
	// Retry is the time between two attempts to connect; 0 is 5 s.
	Retry time.Duration
}

const (
	keptMessages = 1000
	retryEvery   = 5 * time.Second
	// A message that the broker has not taken after so long is sent again.
	patience = 10 * time.Second
	// So many messages are on their way at once, since a broker that is far away takes its
	// time for each. mosquitto drops what is beyond 20 (max_inflight_messages).
	window = 10
)

type message struct {
	topic   string
	payload []byte
}

// Publisher sends messages. Its methods may be called from any goroutine.
type Publisher struct {
	config Config
	client paho.Client

	mu      sync.Mutex
	waiting []message // the oldest first
	first   int       // number of the first that waits, from the beginning on
	dropped int
	away    bool
	news    chan struct{} // there are messages, or a connection
	closing chan struct{}
	ended   chan struct{}
}

// Check says what is wrong with a URL, a prefix or a quality of service.
func Check(c Config) error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts" ||
		strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("no URL of a broker: use mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts:// for TLS")
	}
	if c.Prefix == "" || strings.ContainsAny(c.Prefix, "+#\x00") || strings.HasPrefix(c.Prefix, "$") {
		return fmt.Errorf("%q is no topic: use names with / between them, without + and #", c.Prefix)
	}
	if c.QoS > 2 {
		return fmt.Errorf("a quality of service of %d: use 0, 1 or 2", c.QoS)
	}
	return nil
}

// Open begins to connect, and goes on until Close. A broker that is away is no error.
func Open(c Config) (*Publisher, error) {
	if err := Check(c); err != nil {
		return nil, err
	}
	if c.Kept == 0 {
		c.Kept = keptMessages
	}
	if c.Thing == "" {
		c.Thing = "rows"
	}
	if c.Retry == 0 {
		c.Retry = retryEvery
	}
	p := &Publisher{config: c, news: make(chan struct{}, 1), closing: make(chan struct{}),
		ended: make(chan struct{})}
	p.client = paho.NewClient(p.options())
	go p.run()
	return p, nil
}

func (p *Publisher) options() *paho.ClientOptions {
	u, _ := url.Parse(p.config.URL)
	scheme, port := "tcp", "1883"
	if u.Scheme == "mqtts" {
		scheme, port = "ssl", "8883"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	user, password := p.config.User, p.config.Password
	if user == "" {
		user = u.User.Username()
		password, _ = u.User.Password()
	}
	options := paho.NewClientOptions().
		AddBroker(scheme + "://" + net.JoinHostPort(u.Hostname(), port)).
		SetClientID(p.config.ID).SetUsername(user).SetPassword(password).
		SetTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}).
		SetConnectTimeout(patience).SetWriteTimeout(patience).SetKeepAlive(30 * time.Second).
		SetAutoReconnect(false).SetConnectRetry(false).
		SetConnectionLostHandler(func(_ paho.Client, err error) { p.tell(err); p.wake() })
	if p.config.Status != "" {
		options.SetWill(p.config.Status, "offline", 1, true)
	}
	return options
}

// Add takes the next message. It does not wait.
func (p *Publisher) Add(topic string, payload []byte) {
	p.mu.Lock()
	p.waiting = append(p.waiting, message{topic, payload})
	for len(p.waiting) > p.config.Kept {
		p.waiting = p.waiting[1:]
		p.first++
		p.dropped++
	}
	p.mu.Unlock()
	p.wake()
}

// Dropped is how many messages were dropped.
func (p *Publisher) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

func (p *Publisher) wake() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// tell says once that the broker is away, with an error, and once that it is back, with
// nil.
func (p *Publisher) tell(err error) {
	p.mu.Lock()
	before, waiting := p.away, len(p.waiting)
	p.away = err != nil
	p.mu.Unlock()
	switch {
	case err != nil && !before:
		p.config.Warn(fmt.Sprintf("the broker does not answer: %v: %d %s wait at most", err, p.config.Kept,
			p.config.Thing))
	case err == nil && before:
		p.config.Warn(fmt.Sprintf("the broker answers again: %d %s have waited", waiting, p.config.Thing))
	}
}

// run connects and sends until the publisher is closed.
func (p *Publisher) run() {
	defer close(p.ended)
	for {
		if p.connect() {
			p.send()
		}
		select {
		case <-p.closing:
			return
		case <-p.news:
			if !p.client.IsConnectionOpen() && !p.pause() {
				return
			}
		}
	}
}

// pause waits before the next attempt to connect; false says that the publisher is closed.
func (p *Publisher) pause() bool {
	select {
	case <-p.closing:
		return false
	case <-time.After(p.config.Retry):
		p.wake()
		return true
	}
}

func (p *Publisher) connect() bool {
	if p.client.IsConnectionOpen() {
		return true
	}
	if err := wait(p.client.Connect()); err != nil {
		p.tell(err)
		p.wake()
		return false
	}
	p.tell(nil)
	if p.config.Status == "" {
		return true
	}
	if err := wait(p.client.Publish(p.config.Status, 1, true, "online")); err != nil {
		p.tell(err)
	}
	return true
}

// send sends the messages that wait, some at a time. Those that the broker does not take stay
// the first.
func (p *Publisher) send() {
	for {
		p.mu.Lock()
		some := slices.Clone(p.waiting[:min(window, len(p.waiting))])
		first := p.first
		p.mu.Unlock()
		if len(some) == 0 {
			return
		}
		var tokens []paho.Token
		for _, m := range some {
			tokens = append(tokens, p.client.Publish(m.topic, p.config.QoS, false, m.payload))
		}
		for i, token := range tokens {
			if err := wait(token); err != nil {
				p.client.Disconnect(0)
				p.tell(err)
				p.wake()
				return
			}
			p.sent(first + i)
		}
	}
}

// sent takes away the message with a number, unless Add has dropped it.
func (p *Publisher) sent(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == number {
		p.waiting = p.waiting[1:]
		p.first++
	}
}

var errSlow = errors.New("it took longer than " + patience.String())

func wait(t paho.Token) error {
	if !t.WaitTimeout(patience) {
		return errSlow
	}
	return t.Error()
}

// Close sends what waits, and says goodbye, all of it for so long at most; a quarter of that
// is kept for the goodbye. It tells how many messages were not sent.
func (p *Publisher) Close(limit time.Duration) (lost int) {
	end := time.Now().Add(limit)
	deadline := end.Add(-limit / 4)
	for time.Now().Before(deadline) {
		p.mu.Lock()
		left, away := len(p.waiting), p.away
		p.mu.Unlock()
		if left == 0 || away {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	close(p.closing)
	select {
	case <-p.ended:
	case <-time.After(time.Until(deadline)):
	}
	p.farewell(end)
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) + p.dropped
}

// Announce says again that the publisher is online, after another one with its Status has said goodbye.
// One that is not connected says so when it is. It waits so long at most.
func (p *Publisher) Announce(limit time.Duration) {
	if p.config.Status != "" && p.client.IsConnectionOpen() {
		p.client.Publish(p.config.Status, 1, true, "online").WaitTimeout(limit)
	}
}

// farewell says that the publisher is offline and disconnects. It waits until an instant at
// most: a broker that takes nothing may hold even the beginning of a message.
func (p *Publisher) farewell(end time.Time) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		if p.config.Status != "" && p.client.IsConnectionOpen() {
			p.client.Publish(p.config.Status, 1, true, "offline").WaitTimeout(time.Until(end))
		}
	}()
	select {
	case <-said:
	case <-time.After(time.Until(end)):
	}
	p.client.Disconnect(100)
}

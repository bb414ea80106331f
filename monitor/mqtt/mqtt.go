// Package mqtt sends the rows of a monitor to an MQTT broker (MQTT 3.1.1).
//
// It takes rows and publishes each as a message of JSON, the same as a line of --jsonl, at
// PREFIX/monitor. PREFIX/status is "online" or, by the broker when the connection breaks,
// "offline"; it is retained. Nobody waits for the broker: rows are kept while it is away, so
// many at most, then the oldest are dropped and counted.
package mqtt

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// Config says where rows go to.
type Config struct {
	// URL is mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts:// for TLS.
	URL    string
	Prefix string // of the topics
	ID     string // of the client, unique at the broker
	QoS    byte   // 0, 1 or 2
	Kept   int    // rows that wait at most; 0 is 1000
	// Warn gets what the user should know: that the broker is away, and that it is back.
	Warn func(string)
	// Retry is the time between two attempts to connect; 0 is 5 s.
	Retry time.Duration
}

const (
	keptRows   = 1000
	retryEvery = 5 * time.Second
	// A message that the broker has not taken after so long is sent again.
	patience = 10 * time.Second
)

// Publisher sends rows. Its methods may be called from any goroutine.
type Publisher struct {
	config Config
	client paho.Client
	topic  string

	mu      sync.Mutex
	rows    [][]byte // the oldest first
	sending bool     // the first of rows is on its way
	dropped int
	away    bool
	news    chan struct{} // there are rows, or a connection
	closing chan struct{}
	ended   chan struct{}
}

// Check says what is wrong with a URL or a prefix.
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
		c.Kept = keptRows
	}
	if c.Retry == 0 {
		c.Retry = retryEvery
	}
	p := &Publisher{config: c, topic: c.Prefix + "/monitor", news: make(chan struct{}, 1),
		closing: make(chan struct{}), ended: make(chan struct{})}
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
	password, _ := u.User.Password()
	return paho.NewClientOptions().
		AddBroker(scheme+"://"+net.JoinHostPort(u.Hostname(), port)).
		SetClientID(p.config.ID).SetUsername(u.User.Username()).SetPassword(password).
		SetTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}).
		SetConnectTimeout(patience).SetWriteTimeout(patience).SetKeepAlive(30*time.Second).
		SetAutoReconnect(false).SetConnectRetry(false).
		SetWill(p.config.Prefix+"/status", "offline", 1, true).
		SetConnectionLostHandler(func(_ paho.Client, err error) { p.tell(err); p.wake() })
}

// Add takes the next row. It does not wait.
func (p *Publisher) Add(row []byte) {
	p.mu.Lock()
	p.rows = append(p.rows, row)
	for len(p.rows) > p.config.Kept {
		p.rows = p.rows[1:]
		p.dropped++
		p.sending = false
	}
	p.mu.Unlock()
	p.wake()
}

// Dropped is how many rows were dropped.
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
	before, waiting := p.away, len(p.rows)
	p.away = err != nil
	p.mu.Unlock()
	switch {
	case err != nil && !before:
		p.config.Warn(fmt.Sprintf("the broker does not answer: %v: %d rows wait at most", err, p.config.Kept))
	case err == nil && before:
		p.config.Warn(fmt.Sprintf("the broker answers again: %d rows have waited", waiting))
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
	if err := wait(p.client.Publish(p.config.Prefix+"/status", 1, true, "online")); err != nil {
		p.tell(err)
	}
	return true
}

// send sends the rows that wait. One that the broker does not take stays the first.
func (p *Publisher) send() {
	for {
		p.mu.Lock()
		if len(p.rows) == 0 {
			p.mu.Unlock()
			return
		}
		row := p.rows[0]
		p.sending = true
		p.mu.Unlock()
		if err := wait(p.client.Publish(p.topic, p.config.QoS, false, row)); err != nil {
			p.client.Disconnect(0)
			p.tell(err)
			p.wake()
			return
		}
		p.mu.Lock()
		if p.sending { // and was not dropped meanwhile
			p.rows = p.rows[1:]
		}
		p.mu.Unlock()
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
// is kept for the goodbye. It tells how many rows were not sent.
func (p *Publisher) Close(limit time.Duration) (lost int) {
	end := time.Now().Add(limit)
	deadline := end.Add(-limit / 4)
	for time.Now().Before(deadline) {
		p.mu.Lock()
		left, away := len(p.rows), p.away
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
	return len(p.rows) + p.dropped
}

// farewell says that the publisher is offline and disconnects. It waits until an instant at
// most: a broker that takes nothing may hold even the beginning of a message.
func (p *Publisher) farewell(end time.Time) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		if p.client.IsConnectionOpen() {
			p.client.Publish(p.config.Prefix+"/status", 1, true, "offline").WaitTimeout(time.Until(end))
		}
	}()
	select {
	case <-said:
	case <-time.After(time.Until(end)):
	}
	p.client.Disconnect(100)
}

package mqtt

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// publish sends a message as a plug does.
func (b *broker) publish(topic, payload string, more ...string) {
	b.t.Helper()
	_, port, _ := net.SplitHostPort(b.address)
	args := append([]string{"-h", "127.0.0.1", "-p", port, "-q", "1", "-t", topic, "-m", payload}, more...)
	if out, err := exec.Command("mosquitto_pub", args...).CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
}

func TestListen(t *testing.T) {
	b := newBroker(t)
	config := Config{URL: "mqtt://" + b.address, Prefix: "plug/power", ID: "test", Retry: 20 * time.Millisecond}
	if _, err := Listen(config, time.Second, nil); err == nil || !strings.HasPrefix(err.Error(), "the broker cannot be reached: ") {
		t.Errorf("without a broker: %v", err)
	}
	b.start()
	b.publish("plug/power", "old", "-r")
	got := make(chan string, 10)
	l, err := Listen(config, time.Minute, func(payload []byte, retained bool) {
		text := string(payload)
		if retained {
			text = "retained " + text
		}
		got <- text
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	next := func(want string) {
		t.Helper()
		select {
		case text := <-got:
			if text != want {
				t.Errorf("%q, want %q", text, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no message, want %q", want)
		}
	}
	next("retained old")
	b.publish("plug/other", "7")
	b.publish("plug/power", "42.5")
	next("42.5")
	b.stop() // and what it had retained is gone
	b.start()
	until(t, "it listens again", func() bool {
		b.publish("plug/power", "43")
		select {
		case text := <-got:
			return text == "43"
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
	if _, err := Listen(Config{URL: "http://x", Prefix: "a"}, time.Second, nil); err == nil {
		t.Error("no URL of a broker, and no error")
	}
}

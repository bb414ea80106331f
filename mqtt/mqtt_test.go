package mqtt

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// broker is Debian's mosquitto on a port of the loopback.
type broker struct {
	t       *testing.T
	address string
	config  string
	cmd     *exec.Cmd
	log     bytes.Buffer
}

func newBroker(t *testing.T) *broker {
	for _, name := range []string{"mosquitto", "mosquitto_sub"} {
		if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, address: free.Addr().String(), config: filepath.Join(t.TempDir(), "mosquitto.conf")}
	free.Close()
	_, port, _ := net.SplitHostPort(b.address)
	if err := os.WriteFile(b.config, fmt.Appendf(nil, "listener %s 127.0.0.1\nallow_anonymous true\nuser root\n", port), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	b.cmd = exec.Command("mosquitto", "-c", b.config)
	b.cmd.Stderr = &b.log
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	until(b.t, "the broker listens", func() bool {
		c, err := net.Dial("tcp", b.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (b *broker) stop() {
	if b.cmd != nil {
		b.cmd.Process.Kill()
		b.cmd.Wait()
		b.cmd = nil
	}
}

// subscribe reads messages of a topic until the test ends: "TOPIC PAYLOAD".
func (b *broker) subscribe(topic string) (lines <-chan string) {
	_, port, _ := net.SplitHostPort(b.address)
	cmd := exec.Command("stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-p", port, "-t", topic, "-q", "1", "-F", "%t %p", "-d")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	all, ready := make(chan string, 1000), make(chan struct{})
	var once sync.Once
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.HasPrefix(s.Text(), "Subscribed") {
				once.Do(func() { close(ready) })
			} else if !strings.HasPrefix(s.Text(), "Client") {
				all <- s.Text()
			}
		}
		close(all)
	}()
	b.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	select {
	case <-ready:
	case <-time.After(time.Minute):
		b.t.Fatal("mosquitto_sub does not subscribe")
	}
	return all
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not after a minute: ", what)
		}
	}
}

func expect(t *testing.T, lines <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-lines:
			if got != w {
				t.Errorf("got %q, want %q", got, w)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no message; want %q", w)
		}
	}
}

// A publisher that leaves while another has its state says offline; the other says that it is there, and
// nothing once it has gone itself.
func TestStateOfTwo(t *testing.T) {
	b := newBroker(t)
	b.start()
	lines := b.subscribe("cg/h/#")
	open := func(id string) *Publisher {
		p, err := Open(Config{URL: "mqtt://" + b.address, Prefix: "cg/h", Status: "cg/h/status", ID: id, QoS: 1, Warn: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, lines, "cg/h/status online")
		return p
	}
	before, after := open("cg-before"), open("cg-after")
	before.Close(time.Minute)
	after.Announce(time.Minute)
	expect(t, lines, "cg/h/status offline", "cg/h/status online")
	after.Close(time.Minute)
	after.Announce(time.Minute)
	expect(t, lines, "cg/h/status offline")
	expect(t, b.subscribe("cg/h/#"), "cg/h/status offline") // it is retained
}

// What a subscriber reads is what was added, in order, also what was added while the broker
// was away, up to a bound.
func TestRows(t *testing.T) {
	b := newBroker(t)
	b.start()
	lines := b.subscribe("cg/h/#")
	var mu sync.Mutex
	var warned []string
	p, err := Open(Config{URL: "mqtt://" + b.address, Prefix: "cg/h", Status: "cg/h/status", ID: "cg-test", QoS: 1, Kept: 3, Retry: 20 * time.Millisecond,
		Warn: func(s string) { mu.Lock(); warned = append(warned, s); mu.Unlock() }})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(warned) }
	expect(t, lines, "cg/h/status online")
	for i := range 3 {
		p.Add("cg/h/monitor", fmt.Appendf(nil, `{"row":%d}`, i))
		expect(t, lines, fmt.Sprintf(`cg/h/monitor {"row":%d}`, i))
	}
	b.stop()
	until(t, "the loss is told", func() bool { return count() == 1 })
	for i := range 5 {
		p.Add("cg/h/monitor", fmt.Appendf(nil, `{"late":%d}`, i))
	}
	if p.Dropped() != 2 {
		t.Errorf("%d rows were dropped, want 2", p.Dropped())
	}
	b.start()
	until(t, "the return is told", func() bool { return count() == 2 })
	until(t, "the rows are sent", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.waiting) == 0 })
	again := b.subscribe("cg/h/#")
	expect(t, again, "cg/h/status online") // it is retained
	p.Add("cg/h/monitor", []byte(`{"last":1}`))
	if lost := p.Close(time.Minute); lost != 2 {
		t.Errorf("%d rows are lost, want the 2 that were dropped", lost)
	}
	expect(t, again, `cg/h/monitor {"last":1}`, "cg/h/status offline")
	if !strings.HasPrefix(warned[0], "the broker does not answer: ") || !strings.HasSuffix(warned[0], ": 3 rows wait at most") || warned[1] != "the broker answers again: 3 rows have waited" {
		t.Errorf("%q", warned)
	}
}

// silent is a broker that takes connections, and then answers nothing.
func silent(t *testing.T) (url string, connected <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.Write([]byte{0x20, 2, 0, 0}) // CONNACK: accepted
		close(taken)
		io.Copy(io.Discard, c)
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
	})
	return "mqtt://" + listener.Addr().String(), taken
}

// A broker that does not answer is waited for as long as Close may, and not for as long as a
// message may take.
func TestCloseWaitsNoLonger(t *testing.T) {
	url, connected := silent(t)
	p, err := Open(Config{URL: url, Prefix: "cg/h", Status: "cg/h/status", ID: "cg-test", QoS: 1, Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	<-connected
	until(t, "it is connected", p.client.IsConnectionOpen)
	p.Add("cg/h/monitor", []byte("{}"))
	begun := time.Now()
	if lost := p.Close(200 * time.Millisecond); lost != 1 {
		t.Errorf("%d rows are lost, want 1", lost)
	}
	if took := time.Since(begun); took >= patience {
		t.Errorf("it took %v, as long as a message may", took)
	}
}

// Nobody waits for a broker that was never there.
func TestNoBroker(t *testing.T) {
	b := newBroker(t)
	warned := make(chan string, 10)
	p, err := Open(Config{URL: "mqtt://" + b.address, Prefix: "cg/h", Status: "cg/h/status", ID: "cg-test", Kept: 2, Retry: time.Millisecond, Warn: func(s string) { warned <- s }})
	if err != nil {
		t.Fatal(err)
	}
	<-warned
	for range 5 {
		p.Add("cg/h/monitor", []byte("{}"))
	}
	if lost := p.Close(time.Second); lost != 5 {
		t.Errorf("%d rows are lost, want 5", lost)
	}
	if len(warned) > 0 {
		t.Errorf("it is told again: %s", <-warned)
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct{ url, prefix, want string }{
		{"mqtt://h", "cg", ""}, {"mqtts://u:p@h:1/", "a/b", ""}, {"http://h", "cg", "no URL"}, {"h:1883", "cg", "no URL"},
		{"mqtt://", "cg", "no URL"}, {"mqtt://h/topic", "cg", "no URL"}, {"mqtt://h", "", "no topic"}, {"mqtt://h", "a/#", "no topic"}, {"mqtt://h", "$SYS", "no topic"},
	} {
		err := Check(Config{URL: test.url, Prefix: test.prefix})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v", test.url, test.prefix, err)
		}
	}
	if Check(Config{URL: "mqtt://h", Prefix: "cg", QoS: 3}) == nil {
		t.Error("a quality of service of 3")
	}
	if _, err := Open(Config{}); err == nil {
		t.Error("opened without a URL")
	}
}

// Messages of many topics arrive whole and in order, also those beyond what is on its way at
// once; a publisher without a topic of its state says nothing of it.
func TestManyMessages(t *testing.T) {
	b := newBroker(t)
	b.start()
	lines := b.subscribe("x/#")
	p, err := Open(Config{URL: "mqtt://" + b.address, User: "u", Password: "p", Prefix: "x", ID: "cg-test", QoS: 2, Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 8*window + 1 {
		p.Add(fmt.Sprintf("x/%d", i%2), fmt.Appendf(nil, "%d", i))
		want = append(want, fmt.Sprintf("x/%d %d", i%2, i))
	}
	expect(t, lines, want...)
	if lost := p.Close(time.Minute); lost != 0 {
		t.Errorf("%d are lost", lost)
	}
	p, err = Open(Config{URL: "mqtt://" + b.address, Prefix: "x", Status: "x/state", ID: "cg-test", Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, lines, "x/state online") // and nothing of the first publisher before it
	p.Close(time.Minute)
}

// A message that was dropped while it was on its way is not taken for the one behind it.
func TestDroppedOnItsWay(t *testing.T) {
	p := &Publisher{config: Config{Kept: 2}, news: make(chan struct{}, 1)}
	for _, s := range []string{"a", "b", "c"} {
		p.Add("x", []byte(s))
	}
	p.sent(0) // a, which is gone
	if len(p.waiting) != 2 || p.dropped != 1 {
		t.Errorf("%d wait, %d were dropped", len(p.waiting), p.dropped)
	}
	if p.sent(1); len(p.waiting) != 1 || string(p.waiting[0].payload) != "c" {
		t.Errorf("%q", p.waiting)
	}
}

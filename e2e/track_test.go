package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cg track and Debian's mosquitto, which asks for a password: a subscriber gets a message for
// each row of the file, with WattAMeter's topic and fields, in their order.
func TestTrackToABroker(t *testing.T) {
	for _, name := range []string{"mosquitto", "mosquitto_sub", "mosquitto_passwd"} {
		if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	port := strconv.Itoa(freePorts(t, 1)[0])
	conf := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous false\npassword_file %s\nuser root\n", port, at("passwords"))
	if err := os.WriteFile(at("conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mosquitto_passwd", "-b", "-c", at("passwords"), "user", "secret").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	broker := exec.Command("mosquitto", "-c", at("conf"))
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		broker.Process.Kill()
		broker.Wait()
	})
	var log, messages bytes.Buffer
	subscriber := exec.Command("stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-p", port, "-u", "user", "-P", "secret", "-t", "#", "-q", "1", "-F", "%t %p", "-d")
	out, err := os.Create(at("messages"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	subscriber.Stdout, subscriber.Stderr = out, &log
	listens := func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if !soon(listens) {
		t.Fatal("mosquitto does not listen")
	}
	if err := subscriber.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		subscriber.Process.Kill()
		subscriber.Wait()
	})
	read := func() string { b, _ := os.ReadFile(at("messages")); return string(b) }
	if !soon(func() bool { return strings.Contains(read(), "Subscribed") }) {
		t.Fatalf("mosquitto_sub does not subscribe: %s", &log)
	}
	track := exec.Command(os.Getenv("CG_TEST_BIN")+"/cg", "track", "--tracker", "0.05,estimate", "--duration", "0.5", "-o", dir, "-i", "job7",
		"--mqtt-broker", "127.0.0.1", "--mqtt-port", port, "--mqtt-username", "user", "--mqtt-topic-prefix", "hpc/watts/", "--mqtt-qos", "1")
	track.Env = append(os.Environ(), "CG_MQTT_PASSWORD=secret", "CG_SYSROOT="+t.TempDir())
	track.Stderr = &messages
	begun := time.Now()
	if err := track.Run(); err != nil || strings.Contains(messages.String(), "mqtt") {
		t.Fatalf("%v: %s", err, &messages)
	}
	file, err := os.ReadFile(at("cg_50ms.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(file)), "\n")[1:]
	var got []string
	all := func() bool {
		got = nil
		for line := range strings.Lines(read()) {
			if topic, text, _ := strings.Cut(strings.TrimSpace(line), " "); topic == "hpc/watts/estimatereader/data" {
				got = append(got, text)
			}
		}
		return len(got) == len(rows)
	}
	if !soon(all) {
		t.Fatalf("%d messages of %d rows", len(got), len(rows))
	}
	hostname, _ := os.Hostname()
	for i, text := range got {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		wall, err := time.ParseInLocation("2006-01-02T15:04:05.999999", m["timestamp[iso]"].(string), time.Local)
		if err != nil || wall.Before(begun.Add(-time.Second)) || m["node"] != hostname || m["run-id"] != "job7" || m["reading-time[ns]"] == nil {
			t.Errorf("%v: %s", err, text)
		}
		if joules, is := m["machine-estimated[uJ]"].(float64); !is || !strings.HasPrefix(text, `{"timestamp[ns]": `+strings.Split(rows[i], ",")[0]+",") ||
			strconv.FormatFloat(joules/1e6, 'f', -1, 64) != strings.Split(rows[i], ",")[3] {
			t.Errorf("%s, want as in %s", text, rows[i])
		}
		if _, is := m["machine-estimated[W]"]; is != (i < len(got)-1) {
			t.Errorf("row %d of %d: %s", i, len(got), text)
		}
	}
}

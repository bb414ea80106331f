package e2e

import (
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// A wall meter beside the meters of the processors: the total is theirs, and the report tells what is outside.
func TestWallMeterBesideCounters(t *testing.T) {
	python(t)
	archive, err := txtar.ParseFile("testdata/sys/hwmon-grace.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m := unpack(t, archive)
	r, _, err := measured(t, "--sysroot", m.dir, "--meter", "wall,unit=W,error=2%,exec:echo 150", "testdata/programs/python/warehouse/main.py", "20")
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, watts float64) {
		t.Helper()
		if want := watts * r.Totals.DurationS; math.Abs(got-want) > 0.03*want {
			t.Errorf("%s: %g J in %g s, want %g J", what, got, r.Totals.DurationS, want)
		}
	}
	near("the total", r.Totals.EnergyJ.Float(), 95)
	near("the wall", r.Totals.Domains["wall"].Float(), 150)
	outside, ok := r.Outside("wall")
	if near("outside", outside.Float(), 55); !ok || r.Meta.DomainTopology["wall"].TopLevel {
		t.Errorf("%v: %+v", ok, r.Meta.DomainTopology)
	}
}

// A plug that publishes its power through a broker: as a number, and in the JSON of Tasmota and of Shelly.
func TestMeterOverMQTT(t *testing.T) {
	for _, name := range []string{"mosquitto", "mosquitto_pub"} {
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
	address := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, "listener %s 127.0.0.1\nallow_anonymous true\nuser root\n", port), 0o644); err != nil {
		t.Fatal(err)
	}
	broker := exec.Command("mosquitto", "-c", config)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { broker.Process.Kill(); broker.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	power := regexp.MustCompile(`Power +(5[5-9]|6[0-5])(\.\d+)? W`)
	for _, test := range []struct{ what, topic, message, meter string }{
		{"a number", "shellies/plug/relay/0/power", "60", "unit=W,error=1%,period=200ms,mqtt://BROKER/shellies/plug/relay/0/power"},
		{"Shelly", "plug/status/switch:0", `{"id":0,"apower":60.0,"aenergy":{"total":12.3}}`, "unit=W,error=1%,period=200ms,take=json:.apower,mqtt://BROKER/plug/status/switch:0"},
		{"Tasmota", "tele/plug/SENSOR", `{"Time":"2026-11-27T02:00:00","ENERGY":{"Total":3.185,"Power":60}}`, "unit=W,error=1%,period=200ms,take=json:.ENERGY.Power,mqtt://BROKER/tele/plug/SENSOR"},
	} {
		plug := exec.Command("sh", "-c", `while mosquitto_pub -h 127.0.0.1 -p "$1" -t "$2" -m "$3"; do sleep 0.1; done`, "sh", port, test.topic, test.message)
		if err := plug.Start(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "run", "-n", "2", "--meter", "wall,"+strings.ReplaceAll(test.meter, "BROKER", address), "--", "sleep", "0.4")
		cmd.Env = append(os.Environ(), "CG_SYSROOT="+t.TempDir())
		out, err := cmd.CombinedOutput()
		plug.Process.Kill()
		plug.Wait()
		if err != nil || !power.Match(out) || !strings.Contains(string(out), "Source    mqtt://"+address+"/"+test.topic+", in W") {
			t.Errorf("%s: %v\n%s", test.what, err, out)
		}
	}
}

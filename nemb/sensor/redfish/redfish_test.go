package redfish

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// What BMCs answer, without what cg does not read: the shapes are those of the vendors' documents.
var (
	list = func(ids ...string) string {
		var members []string
		for _, id := range ids {
			members = append(members, fmt.Sprintf(`{"@odata.id": "/redfish/v1/Chassis/%s"}`, id))
		}
		return `{"@odata.type": "#ChassisCollection.ChassisCollection", "Members": [` + strings.Join(members, ", ") + `]}`
	}
	at    = func(path string) string { return "/redfish/v1/Chassis/" + path }
	idrac = map[string]string{ // iDRAC 9
		roots: list("System.Embedded.1", "Enclosure.Internal.0-1"),
		at("System.Embedded.1"): `{"Id": "System.Embedded.1", "Links": {"ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/System.Embedded.1"}]},
			"EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/System.Embedded.1/EnvironmentMetrics"}, "Power": {"@odata.id": "/redfish/v1/Chassis/System.Embedded.1/Power"}}`,
		at("System.Embedded.1/EnvironmentMetrics"): `{"EnergykWh": {"Reading": 1012.3}, "PowerWatts": {"DataSourceUri": "/redfish/v1/Chassis/System.Embedded.1/Sensors/PowerConsumption", "Reading": 212.0}}`,
	}
	ilo = map[string]string{ // iLO 5: Power alone, with a slash at the end of links
		roots:          list("1/"),
		at("1/"):       `{"Id": "1", "Links": {"ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/1/"}]}, "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power/"}}`,
		at("1/Power/"): `{"PowerControl": [{"@odata.id": "/redfish/v1/Chassis/1/Power/#PowerControl/0", "MemberId": "0", "PowerCapacityWatts": 1600, "PowerConsumedWatts": 139}]}`,
	}
	supermicro = map[string]string{ // a first control without a reading, and a chassis of disks
		roots:                              list("HA-RAID.0.StorageEnclosure.0", "1"),
		at("HA-RAID.0.StorageEnclosure.0"): `{"Id": "HA-RAID.0.StorageEnclosure.0", "Links": {"ComputerSystems": []}, "Power": {"@odata.id": "/redfish/v1/Chassis/HA-RAID.0.StorageEnclosure.0/Power"}}`,
		at("1"):                            `{"Id": "1", "Links": {"ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/1"}]}, "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}}`,
		at("1/Power"):                      `{"PowerControl": [{"MemberId": "0", "PowerConsumedWatts": null}, {"MemberId": "1", "PowerConsumedWatts": 305.5}]}`,
	}
	openbmc = map[string]string{ // metrics that are announced and are not there
		roots:               list("BMC_Board", "chassis"),
		at("BMC_Board"):     `{"Links": {"ManagedBy": []}}`,
		at("chassis"):       `{"EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/chassis/EnvironmentMetrics"}, "Power": {"@odata.id": "/redfish/v1/Chassis/chassis/Power"}}`,
		at("chassis/Power"): `{"PowerControl": [{"Name": "Chassis Power Control", "PowerConsumedWatts": 88.25}]}`,
	}
)

// sensorOf is the sensor of which idrac shows an excerpt, and timed is a machine that has it.
var (
	sensorOf = at("System.Embedded.1/Sensors/PowerConsumption")
	timed    = with(idrac, sensorOf, `{"Reading": 213, "ReadingUnits": "W", "ReadingTime": "2026-11-24T02:00:00Z", "SensingInterval": "PT1S"}`)
)

// with is a machine with one answer changed.
func with(machine map[string]string, path, text string) map[string]string {
	all := map[string]string{path: text}
	for p, t := range machine {
		if p != path {
			all[p] = t
		}
	}
	return all
}

// bmc is a server with a certificate of its own, and where its settings are.
type bmc struct {
	*httptest.Server
	nemb.BMC
	answers map[string]string
	seen    http.Header // of the last request
	t       *testing.T

	slowFrom, readings int // the number of the reading from which on none is answered; 0 is never
}

func newBMC(t *testing.T, answers map[string]string, secret string) *bmc {
	t.Helper()
	b := &bmc{answers: answers, t: t}
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.StartTLS()
	t.Cleanup(b.Server.Close)
	b.BMC = nemb.BMC{URL: b.Server.URL, CA: filepath.Join(t.TempDir(), "ca.pem")}
	b.file(b.CA, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})), 0o644)
	if secret != "" {
		b.TokenFile = filepath.Join(t.TempDir(), "token")
		b.file(b.TokenFile, secret, 0o600)
	}
	return b
}

func (b *bmc) file(name, text string, mode os.FileMode) {
	b.t.Helper()
	err := os.WriteFile(name, []byte(text), mode)
	if err == nil {
		err = os.Chmod(name, mode)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bmc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.seen = r.Header
	text, ok := b.answers[r.URL.Path]
	if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/Power") {
		if b.readings++; b.slowFrom > 0 && b.readings >= b.slowFrom {
			text = "slow"
		}
	}
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case text == "401":
		w.WriteHeader(http.StatusUnauthorized)
	case text == "500":
		w.WriteHeader(http.StatusInternalServerError)
	case text == "elsewhere":
		http.Redirect(w, r, "https://127.0.0.1:1/redfish/v1/steal", http.StatusFound)
	case text == "slow":
		<-r.Context().Done()
	default:
		io.WriteString(w, text)
	}
}

func state(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case errors.Is(err, fs.ErrPermission):
		return "denied"
	case err != nil:
		return "broken"
	}
	return ""
}

func TestVendors(t *testing.T) {
	huge := `{"Members": [` + strings.Repeat(`{"@odata.id": "/redfish/v1/Chassis/1"},`, 1<<15) + `]}`
	for _, test := range []struct {
		what    string
		answers map[string]string
		watts   float64
		state   string
		says    string // in the error, or in the domain's source
	}{
		{"Dell", idrac, 212, "", "/redfish/v1/Chassis/System.Embedded.1/EnvironmentMetrics, PowerWatts"},
		{"HPE", ilo, 139, "", "/redfish/v1/Chassis/1/Power/, PowerConsumedWatts"},
		{"Supermicro", supermicro, 305.5, "", "/redfish/v1/Chassis/1/Power, PowerConsumedWatts"},
		{"OpenBMC", openbmc, 88.25, "", "/redfish/v1/Chassis/chassis/Power, PowerConsumedWatts"},
		{"a sensor with its time", timed, 213, "", "/redfish/v1/Chassis/System.Embedded.1/Sensors/PowerConsumption, Reading"},
		{"a sensor without its time", with(timed, sensorOf, `{"Reading": 213}`), 212, "", "EnvironmentMetrics, PowerWatts"},
		{"a sensor of another host", with(idrac, at("System.Embedded.1/EnvironmentMetrics"), `{"PowerWatts": {"DataSourceUri": "https://other/redfish/", "Reading": 211}}`),
			211, "", "EnvironmentMetrics, PowerWatts"},
		{"no power", with(ilo, at("1/Power/"), `{"PowerControl": []}`), 0, "absent", "none of 1 chassis shows its power"},
		{"0 W", with(ilo, at("1/Power/"), `{"PowerControl": [{"PowerConsumedWatts": 0}]}`), 0, "absent", "it reads 0 W"},
		{"less than nothing", with(ilo, at("1/Power/"), `{"PowerControl": [{"PowerConsumedWatts": -3}]}`), 0, "denied", "is -3: want a power"},
		{"beyond all", with(ilo, at("1/Power/"), `{"PowerControl": [{"PowerConsumedWatts": 1e300}]}`), 0, "denied", "want a power"},
		{"a text", with(ilo, at("1/Power/"), `{"PowerControl": [{"PowerConsumedWatts": "139"}]}`), 0, "broken", "not in the form of Redfish"},
		{"a text beside a number", with(ilo, at("1/Power/"), `{"PowerControl": [{"PowerConsumedWatts": "?"}, 3, {"PowerConsumedWatts": 138}]}`), 138, "",
			"PowerConsumedWatts"},
		{"a power that is a number", with(idrac, at("System.Embedded.1/EnvironmentMetrics"), `{"PowerWatts": 212}`), 0, "broken", "not in the form of Redfish"},
		{"times of another type", with(timed, sensorOf, `{"Reading": 213, "ReadingTime": 1764200000, "SensingInterval": 1}`), 212, "", "EnvironmentMetrics, PowerWatts"},
		{"an interval of another type", with(timed, sensorOf, `{"Reading": 213, "ReadingTime": "2026-11-24T02:00:00Z", "SensingInterval": {}}`), 213, "", "PowerConsumption, Reading"},
		{"a sensor of another type", with(idrac, at("System.Embedded.1/EnvironmentMetrics"), `{"PowerWatts": {"DataSourceUri": ["x"], "ReadingTime": null, "Reading": 211}}`),
			211, "", "EnvironmentMetrics, PowerWatts"},
		{"links of another type", with(ilo, at("1/"), `{"Links": {"ComputerSystems": 1}, "EnvironmentMetrics": "none", "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power/"}}`),
			139, "", "PowerConsumedWatts"},
		{"no Redfish", map[string]string{}, 0, "absent", "status 404 (Not Found)"},
		{"no JSON", map[string]string{roots: "<html>"}, 0, "broken", "not in the form of Redfish"},
		{"too long", map[string]string{roots: huge}, 0, "broken", "more than 1048576 bytes"},
		{"a link to another host", map[string]string{roots: `{"Members": [{"@odata.id": "https://other/redfish/v1/Chassis/1"}]}`}, 0, "broken", "a link to \"https://other"},
		{"a link of a trick", map[string]string{roots: `{"Members": [{"@odata.id": "@other/redfish/"}]}`}, 0, "broken", "a link to \"@other"},
		{"sent elsewhere", map[string]string{roots: "elsewhere"}, 0, "denied", "status 302 (Found)"},
		{"refused", map[string]string{roots: "401"}, 0, "denied", "status 401 (Unauthorized): it refuses what"},
		{"out of order", with(ilo, at("1/"), "500"), 0, "denied", "status 500"},
	} {
		b := newBMC(t, test.answers, "reader:secret\n")
		sensors, err := openRedfish(nemb.Root{Dir: t.TempDir(), BMC: b.BMC})
		if state(err) != test.state || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %s %v, want %s %q", test.what, state(err), err, test.state, test.says)
		}
		if err != nil || test.state != "" {
			continue
		}
		d := sensors[0].Domains()[0]
		if d.ID != "wall" || !d.Whole || d.Method != nemb.Derived || d.Period != every || !strings.HasSuffix(d.Source, test.says) {
			t.Errorf("%s: %+v", test.what, d)
		}
		if user, password, _ := (&http.Request{Header: b.seen}).BasicAuth(); user != "reader" || password != "secret" {
			t.Errorf("%s: asked as %q", test.what, user)
		}
		if got, err := sensors[0].(interface{ Watts(int) (float64, error) }).Watts(0); err != nil || got != test.watts {
			t.Errorf("%s: %v W, %v", test.what, got, err)
		}
		if err := sensors[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// The power goes away and comes back: what cannot be read is an error each time.
func TestReadings(t *testing.T) {
	b := newBMC(t, ilo, "a-token-of-a-session")
	c, err := newClient(b.BMC)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.find(t.Context())
	if err != nil || b.seen.Get("X-Auth-Token") != "a-token-of-a-session" || b.seen.Get("Authorization") != "" {
		t.Fatal(err, b.seen)
	}
	for _, step := range []struct{ answer, says string }{
		{`{"PowerControl": [{"PowerConsumedWatts": null}]}`, "shows no PowerConsumedWatts now"},
		{"500", "status 500"},
		{"{", "not in the form"},
		{`{"PowerControl": [{"PowerConsumedWatts": 7}]}`, ""},
	} {
		b.answers = with(ilo, at("1/Power/"), step.answer)
		watts, err := m.Watts()
		if step.says == "" && (err != nil || watts != 7) || step.says != "" && (err == nil || !strings.Contains(err.Error(), step.says)) {
			t.Errorf("%s: %v W, %v", step.answer, watts, err)
		}
	}
	m.Close()
}

// A reading whose own time stands still is that of now for some seconds, and after that none: until it
// moves again.
func TestStale(t *testing.T) {
	b := newBMC(t, timed, "")
	c, err := newClient(b.BMC)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var at checkpoint.Instant
	m.now = func() checkpoint.Instant { return at }
	show := func(clock, interval string) {
		b.answers = with(timed, sensorOf, fmt.Sprintf(`{"Reading": 9, "ReadingTime": %q, "SensingInterval": %q}`, clock, interval))
	}
	for _, step := range []struct {
		second          int
		clock, interval string
		fresh           bool
	}{
		{0, "a", "PT1S", true}, {9, "a", "PT1S", true}, {11, "a", "PT1S", false}, {13, "b", "PT1S", true},
		{22, "b", "PT1S", true}, {24, "b", "PT1S", false},
		{24, "c", "PT1M", true}, {200, "c", "PT1M", true}, {205, "c", "PT1M", false}, // three intervals
		{206, "d", "P9Y", true}, {217, "d", "P9Y", false}, // no interval that is known
		{218, "", "", true}, {400, "", "", true}, // no time is no sign
	} {
		at = checkpoint.Instant(step.second) * 1e9
		show(step.clock, step.interval)
		watts, err := m.Watts()
		if step.fresh && (err != nil || watts != 9) || !step.fresh && (err == nil || !strings.Contains(err.Error(), "has not read its sensor for")) {
			t.Errorf("%d s, %q: %v W, %v, want fresh %v", step.second, step.clock, watts, err, step.fresh)
		}
	}
}

// One that does not answer is given up.
func TestSlow(t *testing.T) {
	b := newBMC(t, map[string]string{roots: "slow"}, "")
	c, err := newClient(b.BMC)
	if err != nil {
		t.Fatal(err)
	}
	c.http.Timeout = 50_000_000 // ns
	if _, err := c.find(t.Context()); err == nil || state(c.explain(err)) != "denied" || !strings.Contains(err.Error(), "Timeout") {
		t.Error(err)
	}
}

// The first reading is in the time that all of opening has: one that does not come is not waited for
// beyond it.
func TestSlowFirstReading(t *testing.T) {
	b := newBMC(t, ilo, "")
	b.slowFrom = 2 // of the readings: the first tells that there is a power
	c, err := newClient(b.BMC)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.open(300 * time.Millisecond)
	if err == nil || state(c.explain(err)) != "denied" || !strings.Contains(err.Error(), "has not told its power within 300ms") {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	b := newBMC(t, ilo, "reader:secret")
	dir := t.TempDir()
	for _, test := range []struct {
		what  string
		at    func(nemb.BMC) nemb.BMC
		state string
		says  string
	}{
		{"no address", func(nemb.BMC) nemb.BMC { return nemb.BMC{} }, "absent", "no BMC is named (--bmc-url)"},
		{"without TLS", func(a nemb.BMC) nemb.BMC { a.URL = "http://bmc"; return a }, "broken", "want https://HOST"},
		{"with a password", func(a nemb.BMC) nemb.BMC { a.URL = "https://u:p@bmc"; return a }, "broken", "without a user"},
		{"with a path", func(a nemb.BMC) nemb.BMC { a.URL += "/redfish/v1"; return a }, "broken", "want https://HOST"},
		{"no file of the token", func(a nemb.BMC) nemb.BMC { a.TokenFile = dir + "/none"; return a }, "broken", "bmc-token-file: open"},
		{"an open file of the token", func(a nemb.BMC) nemb.BMC {
			a.TokenFile = dir + "/open"
			b.file(a.TokenFile, "reader:secret", 0o640)
			return a
		}, "denied", "others may read the token, so it is not used; run cg as root, or: chmod 600 " + dir + "/open"},
		{"two lines", func(a nemb.BMC) nemb.BMC {
			a.TokenFile = dir + "/two"
			b.file(a.TokenFile, "reader:secret\nmore\n", 0o600)
			return a
		}, "broken", "want one line"},
		{"a long token", func(a nemb.BMC) nemb.BMC {
			a.TokenFile = dir + "/long"
			b.file(a.TokenFile, strings.Repeat("x", 5000), 0o600)
			return a
		}, "broken", "want one line"},
		{"an unknown authority", func(a nemb.BMC) nemb.BMC { a.CA = ""; return a }, "denied", "name the certificate of its authority, or its own, with --bmc-ca"},
		{"no certificate", func(a nemb.BMC) nemb.BMC { a.CA = a.TokenFile; return a }, "broken", "has no certificate in PEM"},
		{"no file of the authority", func(a nemb.BMC) nemb.BMC { a.CA = dir + "/none"; return a }, "broken", "bmc-ca: open"},
		{"another name", func(a nemb.BMC) nemb.BMC {
			a.URL = strings.Replace(a.URL, "127.0.0.1", "localhost", 1)
			return a
		}, "denied", "use the name that the certificate has"},
		{"nobody there", func(a nemb.BMC) nemb.BMC { a.URL = "https://127.0.0.1:1"; return a }, "denied", "connection refused"},
	} {
		_, err := openRedfish(nemb.Root{Dir: dir, BMC: test.at(b.BMC)})
		if state(err) != test.state || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %s %v, want %s %q", test.what, state(err), err, test.state, test.says)
		}
	}
}

// A file of another user is not used: that user would choose what is sent.
func TestTokenOfAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	name := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(name, []byte("reader:secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	const other = 54321
	if err := os.Chown(name, other, -1); err != nil {
		t.Skip("root of a namespace that has no other users:", err)
	}
	t.Setenv("SUDO_UID", "")
	if _, err := readSecret(name); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "user 54321") {
		t.Errorf("%v, want a refusal that names the owner", err)
	}
	t.Setenv("SUDO_UID", strconv.Itoa(other))
	if text, err := readSecret(name); err != nil || text != "reader:secret" {
		t.Errorf("called by sudo: %q, %v", text, err)
	}
}

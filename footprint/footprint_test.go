package footprint

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// kWh is a use of some kilowatt-hours in an hour.
func kWh(value, lo, hi float64) Use {
	return Use{Range{value * 3.6e6, lo * 3.6e6, hi * 3.6e6}, noon, noon.Add(time.Hour), time.Hour}
}

func near3(t *testing.T, what string, got Range, value, lo, hi float64) {
	t.Helper()
	for i, pair := range [][2]float64{{got.Value, value}, {got.Lo, lo}, {got.Hi, hi}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[1]) {
			t.Errorf("%s: %+v, want %g [%g, %g] (%d)", what, got, value, lo, hi, i)
			return
		}
	}
}

func rates(t *testing.T, s Settings) *Rates {
	t.Helper()
	r, err := New(s, func(string) (*Series, error) { return nil, errors.New("no file") })
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return r
}

// Emissions and cost are energy times PUE times rate, and so are the ends of their intervals.
func TestOf(t *testing.T) {
	r := rates(t, Settings{Carbon: true, Cost: true, Intensity: "300..500 g/kWh", PUE: "1.2..1.6", Price: "0.25 EUR/kWh",
		Embodied: "10..20 g/h, maker's figure"})
	f, err := r.Of(kWh(2, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	near3(t, "grams", f.Carbon.Grams, 2*1.4*400+15, 1*1.2*300+10, 4*1.6*500+20)
	near3(t, "cost", f.Cost.Amount, 2*1.4*.25, 1*1.2*.25, 4*1.6*.25)
	if f.Cost.Currency != "EUR" || f.Carbon.Method != Given || f.Carbon.EmbodiedSource != "maker's figure" {
		t.Errorf("%+v, %+v", f.Carbon, f.Cost)
	}
	if faults := f.Check(); faults != nil {
		t.Errorf("what was just made contradicts itself: %q", faults)
	}
	for _, spoil := range []func(*Footprint){
		func(f *Footprint) { f.Carbon.Grams.Value *= 1.01 }, func(f *Footprint) { f.Cost.Amount.Lo *= .9 },
		func(f *Footprint) { f.PUE.Lo = .9 }, func(f *Footprint) { f.EnergyJ.Hi = 0 },
		func(f *Footprint) { f.Carbon.Embodied.Lo = -1 }, func(f *Footprint) { f.Cost.Price.Hi = 0 },
	} {
		f, _ := r.Of(kWh(2, 1, 4))
		if spoil(f); len(f.Check()) == 0 {
			t.Errorf("nothing is found in %+v %+v", f.Carbon, f.Cost)
		}
	}
	if f, err := rates(t, Settings{Zone: "DE", Price: "1 USD"}).Of(kWh(1, 1, 1)); f != nil || err != nil {
		t.Errorf("nobody asked, and got %+v, %v", f, err)
	}
	if f, _ := (*Rates)(nil).Of(kWh(1, 1, 1)); f != nil {
		t.Errorf("no rates give %+v", f)
	}
}

// A zone is a country by either of its codes, or a group of countries.
func TestZones(t *testing.T) {
	for _, of := range []struct {
		name, code string
		rate       float64
	}{{"DE", "DEU", 342.06}, {"deu", "DEU", 342.06}, {"France", "FRA", 44.18}, {"eu", "EU", 213.02}, {"XK", "XKX", 958.72}} {
		f, err := rates(t, Settings{Carbon: true, Zone: of.name}).Of(kWh(1, 1, 1))
		if err != nil || f.Carbon.Zone != of.code {
			t.Errorf("%s: %+v, %v", of.name, f.Carbon, err)
			continue
		}
		near3(t, of.name, f.Carbon.Grams, of.rate, of.rate*.55, of.rate*1.67)
		if !strings.Contains(f.Carbon.Source, "Ember") || !strings.Contains(f.Carbon.Source, "20") {
			t.Errorf("%s: source %q tells neither author nor year", of.name, f.Carbon.Source)
		}
	}
	if n := len(zones()); n != 221 {
		t.Errorf("%d zones", n)
	}
	for code, z := range zones() {
		if z.year < 2022 || z.rate <= 0 || z.rate > 1500 || z.name == "" {
			t.Errorf("%s: %+v", code, z)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, of := range []struct {
		s    Settings
		want string
	}{
		{Settings{Carbon: true}, "zone: emissions are asked for, and neither a zone"},
		{Settings{Carbon: true, Zone: "DEX"}, `zone: there is no zone "DEX"; did you mean`},
		{Settings{Carbon: true, Zone: "Atlantis"}, "use a country's code"},
		{Settings{Carbon: true, Intensity: "500..300"}, "ends below its beginning"},
		{Settings{Carbon: true, Intensity: "hours.csv"}, "intensity: no file"},
		{Settings{Cost: true}, "price: the cost is asked for"},
		{Settings{Price: "0.30"}, "has no currency"},
		{Settings{Price: "0.30 XYZZ"}, "has no currency"},
		{Settings{Price: "-1 EUR"}, "is not a number of 0 or more"},
		{Settings{Price: "1e308 EUR"}, "price: 1e308 is more than 1e+12"},
		{Settings{PUE: "0.9"}, "pue: 0.9 is below 1"},
		{Settings{PUE: "NaN"}, "is not a number"},
		{Settings{Embodied: "15 g/h"}, "with their source"},
		{Settings{Embodied: "15, maker"}, "with their source"},
	} {
		_, err := New(of.s, func(string) (*Series, error) { return nil, errors.New("no file") })
		var setting *Error
		if !errors.As(err, &setting) || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%+v: %v, want %q", of.s, err, of.want)
		}
	}
}

const hours = "time,g_per_kwh\n2026-03-01T11:00:00Z,100\n2026-03-01T12:00:00Z,200\n2026-03-01T13:00:00Z,400\n"

// A series has the mean of the time of the use, and the least and most of what held meanwhile.
func TestSeries(t *testing.T) {
	s, err := ReadSeries("hours.csv", strings.NewReader(hours))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		from, to      time.Duration // from noon
		value, lo, hi float64
	}{
		{0, time.Hour, 200, 200, 200},
		{-time.Hour, 2 * time.Hour, 700. / 3, 100, 400},
		{45 * time.Minute, 75 * time.Minute, 300, 200, 400},
		{time.Minute, time.Minute, 200, 200, 200}, // no time at all
		{time.Hour, 2 * time.Hour, 400, 400, 400}, // the last rate holds as long as the others
	} {
		got, err := s.Mean(noon.Add(of.from), noon.Add(of.to))
		if err != nil {
			t.Error(err)
		}
		near3(t, of.from.String(), got, of.value, of.lo, of.hi)
	}
	for _, off := range []time.Duration{-2 * time.Hour, 90 * time.Minute} {
		_, err := s.Mean(noon.Add(off), noon.Add(off+time.Hour))
		if err == nil || !strings.Contains(err.Error(), "has rates from 2026-03-01T11:00:00Z to 2026-03-01T14:00:00Z") {
			t.Errorf("%v: %v", off, err)
		}
	}
	r, err := New(Settings{Carbon: true, Zone: "DE", Intensity: "hours.csv"},
		func(string) (*Series, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	if f, err := r.Of(kWh(1, 1, 1)); err != nil || f.Carbon.Method != Hourly || f.Carbon.Intensity.Value != 200 {
		t.Errorf("%+v, %v", f.Carbon, err)
	}
}

func TestSeriesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "not a table",
		"a,b\n1,2\n":                             "names no columns time and g_per_kwh",
		"time,g_per_kwh\nyesterday,1\n":          `f.csv:2: "yesterday" is not a time`,
		"time,g_per_kwh\n2026-03-01T11:00:00Z\n": "f.csv:2: the row has 1 columns and not 2",
		"time,g_per_kwh\n2026-03-01T11:00:00Z,-3\n2026-03-01T12:00:00Z,1\n": "is not a number of 0 or more",
		"time,g_per_kwh\n2026-03-01T11:00:00Z,3\n2026-03-01T11:00:00Z,1\n":  "f.csv:3: 2026-03-01T11:00:00Z is not after",
		"time,g_per_kwh\n2026-03-01T11:00:00Z,3\n":                          "two rows at least",
	} {
		if _, err := ReadSeries("f.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	maps := "Datetime (UTC),Country,Carbon intensity gCO₂eq/kWh (direct),Carbon intensity gCO₂eq/kWh (Life cycle)\n" +
		"2026-03-01 12:00:00,Germany,200,250\n2026-03-01 13:00:00,Germany,210,260\n"
	for _, text := range []string{maps, strings.Replace(maps, "(Life cycle)", "(LCA)", 1)} {
		s, err := ReadSeries("f.csv", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Mean(noon, noon.Add(time.Hour)); err != nil || got.Value != 250 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A table that is longer than what is read is an error: its beginning would pass for all of it.
func TestLongTable(t *testing.T) {
	for left, want := range map[int64]string{int64(len(hours)): "", int64(len(hours)) - 1: "f.csv: it has more than 64 MiB"} {
		_, err := ReadSeries("f.csv", &bounded{from: strings.NewReader(hours), left: left})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes of %d: %v, want %q", left, len(hours), err, want)
		}
	}
}

// What an intensity names: an address, whatever the case of its scheme, a file, or a number.
func TestFileOf(t *testing.T) {
	for text, want := range map[string][2]bool{
		"340 g/kWh": {}, "": {}, "300..500": {}, "hours.csv": {true, false}, "http.csv": {true, false},
		"https://host/a": {false, true}, "HTTP://host/a": {false, true},
	} {
		if _, file := FileOf(text); file != want[0] || IsAddress(text) != want[1] {
			t.Errorf("%q: file %v, address %v", text, file, IsAddress(text))
		}
	}
}

// A series is read from a file and from a web server. What cannot be read is an error.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hours.csv")
	if err := os.WriteFile(path, []byte(hours), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hours" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, hours)
	}))
	defer server.Close()
	for _, name := range []string{path, server.URL + "/hours"} {
		s, err := Open(name)
		if err != nil {
			t.Error(err)
		} else if got, err := s.Mean(noon, noon.Add(time.Hour)); err != nil || got.Value != 200 || s.Name != name {
			t.Errorf("%s: %+v, %v", s.Name, got, err)
		}
	}
	secret := strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	if s, err := Open(secret + "/hours?token=secret"); err != nil || s.Name != server.URL+"/hours" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, address := range []string{secret + "/other?token=secret", "http://127.0.0.1:1/?token=secret", "http://%zz?secret"} {
		if _, err := Open(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for name, want := range map[string]string{
		path + "x": "no such file", server.URL + "/other": "answers 404", "http://127.0.0.1:1/": "cannot be asked",
	} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

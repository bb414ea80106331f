package battery

import (
	"errors"
	"math"
	"strings"
	"testing"

	"cg/nemb"
	"cg/nemb/fixture"
	"cg/nemb/sensor"
)

func TestBattery(t *testing.T) {
	const bat, ac = "sys/class/power_supply/BAT0/", "sys/class/power_supply/AC/"
	supply := func(t *testing.T, texts map[string]string) nemb.Root {
		root := nemb.Root{Dir: t.TempDir()}
		fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor\t: 0\n", ac + "type": "Mains\n", ac + "online": "0\n", bat + "type": "Battery\n"})
		fixture.Files(t, root, texts)
		return root
	}
	for _, test := range []struct {
		name   string
		texts  map[string]string
		source string
		watts  float64
	}{
		{"power", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "12500000\n"}, "battery", 12.5},
		{"negative power", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "-12500000\n"}, "battery", 12.5},
		{"current and voltage", map[string]string{bat + "status": "Discharging\n", bat + "current_now": "1000000\n", bat + "voltage_now": "11000000\n"}, "battery", 11},
		{"two", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "12500000\n", "sys/class/power_supply/BAT1/type": "Battery\n",
			"sys/class/power_supply/BAT1/status": "Discharging\n", "sys/class/power_supply/BAT1/power_now": "500000\n"}, "battery", 13},
		{"no power, its current and voltage", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "0\n", bat + "current_now": "1000000\n", bat + "voltage_now": "11000000\n"}, "battery", 11},
		{"no power, its charge", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "0\n", bat + "energy_now": "41230000\n"}, "battery: ", 0},
		{"no power, nothing else", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "0\n"}, "estimate", 0},
		{"no current", map[string]string{bat + "status": "Discharging\n", bat + "current_now": "0\n", bat + "voltage_now": "11000000\n"}, "estimate", 0},
		{"two, of which one tells no power", map[string]string{bat + "status": "Discharging\n", bat + "power_now": "12500000\n", "sys/class/power_supply/BAT1/type": "Battery\n",
			"sys/class/power_supply/BAT1/status": "Discharging\n", "sys/class/power_supply/BAT1/power_now": "0\n"}, "battery", 12.5},
		{"on mains", map[string]string{bat + "status": "Charging\n", bat + "power_now": "12500000\n"}, "estimate", 0},
		{"a mouse's", map[string]string{bat + "status": "Discharging\n", bat + "scope": "Device\n", bat + "power_now": "1\n"}, "estimate", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := nemb.Discover(supply(t, test.texts), nil)
			if err != nil || len(found.Sensors) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}
			defer found.Close()
			d := found.Domains()[0]
			if !strings.HasPrefix(d.Source, test.source) || !d.InTotal {
				t.Errorf("%+v", d)
			}
			if p, ok := found.Sensors[0].(*sensor.Power); ok {
				if sum, err := p.Watts(0); err != nil || math.Abs(sum-test.watts) > 1e-9 {
					t.Errorf("%g W, %v, want %g W", sum, err, test.watts)
				}
			}
		})
	}
	// Mains are plugged in during a run: no reading, no energy.
	root := supply(t, map[string]string{bat + "status": "Discharging\n", bat + "power_now": "12500000\n"})
	found, err := nemb.Discover(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	dst := make([]nemb.Energy, 1)
	if err := found.Sensors[0].Read(dst); err != nil {
		t.Fatal(err)
	}
	fixture.Files(t, root, map[string]string{bat + "status": "Charging\n"})
	if err := found.Sensors[0].Read(dst); err == nil || !strings.Contains(err.Error(), `the battery is "Charging"`) {
		t.Error(err)
	}
	// A power of 0 W while it is discharging is no power.
	fixture.Files(t, root, map[string]string{bat + "status": "Discharging\n", bat + "power_now": "0\n"})
	if err := found.Sensors[0].Read(dst); !errors.Is(err, sensor.ErrNoPower) {
		t.Error(err)
	}
	// One that tells its charge alone: 10 mWh less are 36 J.
	root = supply(t, map[string]string{bat + "status": "Discharging\n", bat + "energy_now": "41230000\n"})
	charge, err := nemb.Discover(root, nil)
	if err != nil || len(charge.Sensors) != 1 || charge.Domains()[0].Method != nemb.Measured || !charge.Domains()[0].InTotal || charge.Domains()[0].Step != 36e6 {
		t.Fatalf("%+v, %v", charge, err)
	}
	defer charge.Close()
	start := nemb.Energy(sensor.IntegralStart(1))
	for _, step := range []struct {
		text string
		want nemb.Energy
	}{{"41230000\n", 0}, {"41220000\n", 36e6}} {
		fixture.Files(t, root, map[string]string{bat + "energy_now": step.text})
		if err := charge.Sensors[0].Read(dst); err != nil || dst[0] != start+step.want {
			t.Errorf("%q: %d uJ, %v", step.text, dst[0], err)
		}
	}
	// Time on mains tells nothing: the counter starts over, below all before,
	// though the charge was held.
	fixture.Files(t, root, map[string]string{bat + "status": "Not charging\n"})
	if err := charge.Sensors[0].Read(dst); err == nil {
		t.Error("a battery that is held is a reading")
	}
	fixture.Files(t, root, map[string]string{bat + "status": "Discharging\n"})
	for _, step := range []struct {
		text string
		want nemb.Energy
	}{{"41220000\n", 0}, {"41210000\n", 36e6}} {
		fixture.Files(t, root, map[string]string{bat + "energy_now": step.text})
		if err := charge.Sensors[0].Read(dst); err != nil || dst[0] != nemb.Energy(sensor.IntegralStart(2))+step.want {
			t.Errorf("after mains, %q: %d uJ, %v", step.text, dst[0], err)
		}
	}
	// More in it than before is a charge that nobody saw: that reading fails,
	// and the next starts over.
	fixture.Files(t, root, map[string]string{bat + "energy_now": "49000000\n"})
	if err := charge.Sensors[0].Read(dst); err == nil {
		t.Error("a charge that rose is a reading")
	}
	if err := charge.Sensors[0].Read(dst); err != nil || dst[0] != nemb.Energy(sensor.IntegralStart(3)) {
		t.Errorf("%d uJ, %v", dst[0], err)
	}
	for file, text := range map[string]string{"energy_now": "49240000\n", "status": "Full\n"} {
		fixture.Files(t, root, map[string]string{bat + file: text})
		if err := charge.Sensors[0].Read(dst); err == nil {
			t.Errorf("%s %q is a reading", file, text)
		}
	}
	// A battery that does not answer is broken.
	if _, err := nemb.Discover(supply(t, map[string]string{bat + "status": "Discharging\n", bat + "power_now": "x\n"}), nil); err == nil || !strings.Contains(err.Error(), "power_now") {
		t.Error(err)
	}
}

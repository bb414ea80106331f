package ipmi

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/fixture"
)

// recorded is a door behind which a BMC gives one answer after the other, the last again and again.
type recorded struct {
	t       *testing.T
	answers []string // bytes as ipmitool raw prints them, or an error
	closed  int
}

func (r *recorded) ask(function, command byte, data []byte) ([]byte, error) {
	r.t.Helper()
	if function != 0x2c || command != 0x02 || hex.EncodeToString(data) != "dc010000" {
		r.t.Errorf("asked %02x %02x % x", function, command, data)
	}
	answer := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	if answer == "none" {
		return nil, unix.ETIMEDOUT
	}
	b, err := hex.DecodeString(strings.ReplaceAll(answer, " ", ""))
	if err != nil {
		r.t.Fatal(err)
	}
	return b, nil
}

func (r *recorded) close() { r.closed++ }

// 110 W now, 80 to 300, 112 on average, at 2023-10-29, over 1 s, active.
const good = "00 dc 6e 00 50 00 2c 01 70 00 5c 9a 3e 65 e8 03 00 00 40"

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		what, answer string
		watts        float64
		state        string // absent, denied, broken, or "" for one that is read
		says         string
	}{
		{"a reading", good, 110, "", ""},
		{"with bytes behind it", good + " 00 00", 110, "", ""},
		{"the most", "00 dc ff ff 00 00 ff ff 00 00 00 00 00 00 00 00 00 00 40", 65535, "", ""},
		{"no DCMI", "c1", 0, "absent", "it has no such command (completion code C1)"},
		{"no power", "cb", 0, "absent", "it has no such sensor"},
		{"privilege", "d4", 0, "denied", "not with this privilege (completion code D4)"},
		{"busy", "c0", 0, "denied", "it is busy"},
		{"a code of the vendor's", "8f", 0, "denied", "it refuses (completion code 8F)"},
		{"not active", good[:len(good)-2] + "00", 0, "absent", "does not measure power now"},
		{"0 W", "00 dc 00 00 00 00 00 00 00 00 00 00 00 00 e8 03 00 00 40", 0, "absent", "it reads 0 W"},
		{"another group", "00 52 6e 00 50 00 2c 01 70 00 5c 9a 3e 65 e8 03 00 00 40", 0, "broken", "no power reading (DCMI 1.5, table 6-16): 00 52 6E"},
		{"cut short", good[:41], 0, "broken", "no power reading"},
		{"nothing", "", 0, "broken", "no power reading"},
		{"silence", "none", 0, "denied", "timed out"},
	} {
		d := &recorded{t: t, answers: []string{test.answer}}
		sensors, err := newSensor(nemb.Root{Dir: t.TempDir()}, d, "/dev/ipmi0")
		state := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			state = "absent"
		case errors.Is(err, fs.ErrPermission):
			state = "denied"
		case err != nil:
			state = "broken"
		}
		if state != test.state || err != nil && !strings.Contains(err.Error(), test.says) || (d.closed == 1) != (err != nil) {
			t.Errorf("%s: %s %v, closed %d times", test.what, state, err, d.closed)
		}
		if err != nil {
			continue
		}
		watts, err := (&meter{door: d, now: func() checkpoint.Instant { return 1 }}).Watts()
		wall := sensors[0].Domains()[0]
		if err != nil || watts != test.watts || wall.ID != "wall" || wall.Kind != "psys" || !wall.Whole || wall.Method != nemb.Derived ||
			wall.Lo != 0.95 || wall.Hi != 1.05 || wall.Period != time.Second {
			t.Errorf("%s: %v W, %v, %+v", test.what, watts, err, wall)
		}
		if err := errors.Join(sensors[0].Close(), sensors[0].Close()); err != nil || d.closed != 1 {
			t.Errorf("%s: closed %d times, %v", test.what, d.closed, err)
		}
	}
}

// A BMC whose time stamps moved, and do no more, tells an old power. One that never has any is believed.
func TestStale(t *testing.T) {
	at := func(stamp string) string { return strings.Replace(good, "5c", stamp, 1) }
	for _, test := range []struct {
		what    string
		answers []string // a second apart
		failed  int      // of 30 readings: the first that fails, -1 for none
	}{
		{"it stands still", []string{at("01"), at("02"), at("03")}, 13},
		{"it never moved", []string{at("00")}, -1},
	} {
		var now checkpoint.Instant = 1
		m := &meter{door: &recorded{t: t, answers: test.answers}, now: func() checkpoint.Instant { return now }}
		failed := -1
		for i := range 30 {
			_, err := m.Watts()
			if err != nil && failed < 0 {
				failed = i
				if !strings.Contains(err.Error(), "the same reading for 11s: it is stale") {
					t.Error(err)
				}
			}
			now += checkpoint.Instant(time.Second)
		}
		if failed != test.failed {
			t.Errorf("%s: fails from reading %d on, want %d", test.what, failed, test.failed)
		}
	}
}

func TestDevice(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	if _, err := nemb.OpenSource(root, "ipmi"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no device: %v", err)
	}
	if text, fix := bmcWithoutDevice(root, false); text+fix != "" {
		t.Errorf("no BMC: %q, %q", text, fix)
	}
	fixture.Files(t, root, map[string]string{"sys/firmware/dmi/entries/38-0/type": "38\n"})
	if text, fix := bmcWithoutDevice(root, false); !strings.Contains(text, "there is a BMC") || !strings.Contains(fix, "ipmi_devintf") {
		t.Errorf("a BMC: %q, %q", text, fix)
	}
	if _, fix := bmcWithoutDevice(root, true); !strings.Contains(fix, "--device") {
		t.Errorf("a BMC outside of the container: %q", fix)
	}
	fixture.Files(t, root, map[string]string{"dev/ipmi0": ""})
	if text, _ := bmcWithoutDevice(root, false); text != "" {
		t.Errorf("a BMC and its device: %q", text)
	}
	if _, err := nemb.OpenSource(root, "ipmi"); err == nil || !strings.Contains(err.Error(), "it is no IPMI device: inappropriate ioctl") {
		t.Errorf("a file: %v", err)
	}
	if os.Getuid() == 0 {
		return
	}
	if err := os.Chmod(root.Dev("ipmi0"), 0); err != nil {
		t.Fatal(err)
	}
	var denied *nemb.Denied
	if _, err := nemb.OpenSource(root, "ipmi"); !errors.As(err, &denied) || denied.Fix == "" {
		t.Errorf("denied: %v", err)
	}
}

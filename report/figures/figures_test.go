package figures

import "testing"

func TestEnergy(t *testing.T) {
	for _, c := range []struct {
		microjoules uint64
		want        string
	}{
		{0, "0 J"}, {1, "1 µJ"}, {999, "999 µJ"}, {1000, "1.00 mJ"}, {12345, "12.3 mJ"}, {999_999, "1000 mJ"},
		{1_000_000, "1.00 J"}, {123_456_789, "123 J"}, {9_999_000_000, "9999 J"}, {12_345_000_000, "12.3 kJ"},
	} {
		if got := Energy(&c.microjoules); got != c.want {
			t.Errorf("%d: %q, want %q", c.microjoules, got, c.want)
		}
	}
	for joules, want := range map[float64]string{-1: "0 J", 0.0123456: "12.3 mJ", 2: "2.00 J"} {
		if got := Joules(joules); got != want {
			t.Errorf("%g: %q, want %q", joules, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0 ns", 5e-7: "500 ns", 1.5e-5: "15.0 µs", 0.25: "250 ms", 2: "2.00 s",
		3700: "1h1m40s"} {
		if got := Seconds(s); got != want {
			t.Errorf("%g: %q, want %q", s, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	lo, hi := uint64(1000), uint64(2_000_000)
	for want, got := range map[string]string{
		"1 234 567":         Count(1234567),
		"999":               Count(999),
		"1 234 → 0.5":       Calls(1234, 0.5),
		"12":                Calls(12, 12),
		"12.3 W":            Watts(at(12.345)),
		"[1.00 mJ, 2.00 J]": Interval(&lo, &hi),
		"5.1 %":             Percent(at(5.12)),
		"+5.0 %":            Change(0.05),
		"-20.0 %":           Change(-0.2),
		"2.50 times":        Change(1.5),
		"~1.50 J":           Value(at(1.5), "J", "~"),
		"~1.50 W":           Value(at(1.5), "W", "~"),
		"1.50 s":            Value(at(1.5), "s", "~"),
		"1235":              Digits(1234.6),
		"0.00123":           Digits(0.001234),
		"0":                 Digits(0),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is not known is no figure.
func TestGrams(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 ng", 3e-8: "30.0 ng", 1.5e-6: "1.50 µg", .0123: "12.3 mg", 342: "342 g", 4200: "4.20 kg", 2.5e7: "25.0 t",
	} {
		if got := Grams(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func TestMoney(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 µEUR", 1e-6: "1.00 µEUR", .0123: "12.3 mEUR", .25: "0.250 EUR", 1234: "1234 EUR",
	} {
		if got := Money(v, "EUR"); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	known := uint64(1)
	for what, got := range map[string]string{
		"energy": Energy[uint64](nil), "lower bound": Interval(nil, &known), "upper bound": Interval(&known, nil),
		"power": Watts(nil), "share": Percent(nil), "value": Value(nil, "J", "~"),
	} {
		if got != "?" {
			t.Errorf("%s: %q", what, got)
		}
	}
}

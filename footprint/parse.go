package footprint

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/currency"

	"cg/pattern"
)

// Settings are the rates as people write them. "" is what they do not say.
type Settings struct {
	Carbon bool // emissions are asked for
	Cost   bool // money is asked for
	// Zone is a country's code or a group of countries (see ember.csv).
	Zone string
	// Intensity is "340", "300..380", both in g/kWh, or a file or an https:// address of a
	// series (see ReadSeries). It goes before Zone.
	Intensity string
	PUE       string // "1.2" or "1.1..1.5"; 1 where it is ""
	Price     string // "0.30 EUR" or "0.25..0.35 EUR", for each kWh
	Embodied  string // "15 g/h, SOURCE" or "12..20 g/h, SOURCE"
}

// Error is a setting that cannot be used.
type Error struct {
	Setting string // zone, intensity, pue, price or embodied
	Err     error
}

func (e *Error) Error() string { return e.Setting + ": " + e.Err.Error() }

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// New makes rates of settings. It reads the series that Intensity names with open. An error
// is an *Error.
func New(s Settings, open func(name string) (*Series, error)) (*Rates, error) {
	r := &Rates{pue: Range{1, 1, 1}, asCarbon: s.Carbon, asMoney: s.Cost}
	for _, set := range []struct {
		name string
		take func() error
	}{
		{"pue", func() error { return r.takePUE(s.PUE) }},
		{"intensity", func() error { return r.takeIntensity(s, open) }},
		{"zone", func() error { return r.takeZone(s) }},
		{"embodied", func() error { return r.takeEmbodied(s.Embodied) }},
		{"price", func() error { return r.takePrice(s) }},
	} {
		if err := set.take(); err != nil {
			return nil, &Error{set.name, err}
		}
	}
	return r, nil
}

// number is a figure, or two with ".." between them: the middle is the value.
func number(text string) (Range, error) {
	low, high, isRange := strings.Cut(strings.TrimSpace(text), "..")
	lo, err := positive(low)
	if err != nil || !isRange {
		return Range{lo, lo, lo}, err
	}
	hi, err := positive(high)
	if err == nil && hi < lo {
		err = fmt.Errorf("%q ends below its beginning", text)
	}
	return Range{(lo + hi) / 2, lo, hi}, err
}

// most is beyond all rates, and its products are numbers that JSON has.
const most = 1e12

func positive(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a number of 0 or more", strings.TrimSpace(text))
	}
	if v > most {
		return 0, fmt.Errorf("%s is more than %g, the most that a rate can be", strings.TrimSpace(text), most)
	}
	return v, nil
}

func (r *Rates) takePUE(text string) (err error) {
	if text == "" {
		return nil
	}
	if r.pue, err = number(text); err == nil && r.pue.Lo < 1 {
		err = fmt.Errorf("%s is below 1, where a data centre would use less than its machines", text)
	}
	return err
}

// isNumber tells "340 g/kWh" and "300..380" from the name of a file or a zone.
var isNumber = pattern.Later(`^\s*[0-9.]+(\.\.[0-9.]+)?\s*(g(CO2e?)?/kWh)?\s*$`)

func (r *Rates) takeIntensity(s Settings, open func(name string) (*Series, error)) error {
	switch {
	case s.Intensity == "":
		return nil
	case !isNumber().MatchString(s.Intensity):
		if !s.Carbon { // which would be read for nothing
			return nil
		}
		series, err := open(s.Intensity)
		r.emissions = series
		return err
	}
	text, _, _ := strings.Cut(s.Intensity, "g")
	rate, err := number(text)
	r.carbon = &intensity{rate: rate, method: Given, source: "given by grid.intensity"}
	return err
}

func (r *Rates) takeZone(s Settings) error {
	if s.Zone == "" {
		if s.Carbon && s.Intensity == "" {
			return errors.New("emissions are asked for, and neither a zone (DE) nor an intensity (340 g/kWh) is set")
		}
		return nil
	}
	z, err := zoneOf(s.Zone)
	if err == nil && r.carbon == nil && r.emissions == nil {
		r.carbon = z.intensity()
	}
	return err
}

func (r *Rates) takeEmbodied(text string) error {
	if text == "" {
		return nil
	}
	rate, source, _ := strings.Cut(text, ",")
	rate, isRate := strings.CutSuffix(strings.TrimSpace(rate), "g/h")
	if source = strings.TrimSpace(source); !isRate || source == "" {
		return fmt.Errorf("%q is not grams an hour with their source: write it as \"15 g/h, SOURCE\"", text)
	}
	share, err := number(rate)
	r.embodied, r.making = &share, source
	return err
}

func (r *Rates) takePrice(s Settings) error {
	if s.Price == "" {
		if s.Cost {
			return errors.New("the cost is asked for, and no price is set, such as \"0.30 EUR\" for a kWh")
		}
		return nil
	}
	text := strings.TrimSuffix(strings.TrimSpace(s.Price), "/kWh")
	at := strings.LastIndexAny(text, " 0123456789") + 1
	unit, err := currency.ParseISO(text[at:])
	if err != nil {
		return fmt.Errorf("%q has no currency: write it as \"0.30 EUR\", for a kWh", s.Price)
	}
	price, err := number(text[:at])
	r.price, r.currency = &price, unit.String()
	return err
}

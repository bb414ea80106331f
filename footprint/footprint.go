// Package footprint tells what joules emit, in grams of CO2 equivalents, and what they cost.
//
// It takes an energy with its interval, when it was used, and Rates: how many grams and how
// much money a kilowatt-hour comes to. It gives a Footprint, in which each figure has an
// interval. A figure that depends on a rate nobody gave does not exist: it is never 0.
//
// The rate of emissions is one of three. A zone of the table in ember.csv has the mean of a
// year (Ember, Yearly Electricity Data, CC BY 4.0, ember-energy.org: emissions over the life
// cycle per kilowatt-hour generated). A number is taken as it is. A series of hours (Series)
// has the mean of the time in which the energy was used.
package footprint

import (
	"fmt"
	"time"
)

// Range is a figure and the interval it lies in: Lo <= Value <= Hi, none below 0.
type Range struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// times is the product of two figures none of which tells of the other.
func (r Range) times(by Range) Range { return Range{r.Value * by.Value, r.Lo * by.Lo, r.Hi * by.Hi} }

func (r Range) plus(more Range) Range {
	return Range{r.Value + more.Value, r.Lo + more.Lo, r.Hi + more.Hi}
}

func (r Range) scaled(by float64) Range { return Range{r.Value * by, r.Lo * by, r.Hi * by} }

// holds reports whether a range is one, and is within rounding of another.
func (r Range) holds() bool { return r.Lo >= 0 && r.Lo <= r.Value && r.Value <= r.Hi }

// Use is an energy that was used from one moment to another, by what ran for Lasted.
type Use struct {
	Joules   Range
	From, To time.Time
	Lasted   time.Duration
}

const joulesPerKWh = 3.6e6

// Footprint is what an energy comes to.
type Footprint struct {
	// EnergyJ is the machine's energy, and PUE by how much a data centre's exceeds it (power
	// usage effectiveness, ISO/IEC 30134-2).
	EnergyJ Range `json:"energy_j"`
	PUE     Range `json:"pue"`
	// Carbon and Cost are nil where nobody asked for them, or where a rate is not known.
	Carbon *Carbon `json:"carbon,omitempty"`
	Cost   *Cost   `json:"cost,omitempty"`
}

// Carbon is what an energy emits, and a share of what making the machine emitted, in grams
// of CO2 equivalents.
type Carbon struct {
	Grams     Range  `json:"co2e_g"`
	Intensity Range  `json:"intensity_g_per_kwh"`
	Method    string `json:"intensity_method"` // one of the constants below
	Zone      string `json:"zone,omitempty"`
	Source    string `json:"source"`
	// Embodied is the part of Grams that goes with the time and not with the energy.
	Embodied       *Range `json:"embodied_g,omitempty"`
	EmbodiedSource string `json:"embodied_source,omitempty"`
}

// The methods by which an intensity is known.
const (
	Yearly = "yearly mean"
	Given  = "given"
	Hourly = "series"
)

// Cost is what an energy costs.
type Cost struct {
	Amount   Range  `json:"amount"`
	Currency string `json:"currency"` // ISO 4217
	Price    Range  `json:"price_per_kwh"`
}

// Rates are what a kilowatt-hour comes to. The zero value knows none.
type Rates struct {
	carbon    *intensity
	pue       Range // the zero value is 1
	embodied  *Range
	making    string // the source of embodied
	price     *Range
	currency  string
	asCarbon  bool
	asMoney   bool
	emissions *Series
}

// intensity is a rate of emissions that is known beforehand.
type intensity struct {
	rate                 Range
	method, zone, source string
}

// Of is what a use comes to; nil where Rates know nothing. The error says which hours a
// series does not have.
func (r *Rates) Of(u Use) (*Footprint, error) {
	if r == nil || !r.asCarbon && !r.asMoney {
		return nil, nil
	}
	f := &Footprint{EnergyJ: u.Joules, PUE: r.pue}
	whole := u.Joules.times(f.PUE).scaled(1 / joulesPerKWh)
	if r.asMoney {
		f.Cost = &Cost{Amount: whole.times(*r.price), Currency: r.currency, Price: *r.price}
	}
	if !r.asCarbon {
		return f, nil
	}
	rate := r.carbon
	if r.emissions != nil {
		mean, err := r.emissions.Mean(u.From, u.To)
		if err != nil {
			return f, err
		}
		rate = &intensity{rate: mean, method: Hourly, source: r.emissions.Name}
	}
	c := &Carbon{
		Grams: whole.times(rate.rate), Intensity: rate.rate, Method: rate.method, Zone: rate.zone, Source: rate.source,
	}
	if r.embodied != nil {
		share := r.embodied.scaled(u.Lasted.Hours())
		c.Embodied, c.EmbodiedSource = &share, r.making
		c.Grams = c.Grams.plus(share)
	}
	f.Carbon = c
	return f, nil
}

// Check lists what of a footprint contradicts itself.
func (f *Footprint) Check() (faults []string) {
	if f == nil {
		return nil
	}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	within := func(field string, r Range) {
		if !r.holds() {
			fault("%s: %g is outside of its interval, %g to %g", field, r.Value, r.Lo, r.Hi)
		}
	}
	same := func(field string, is, want Range) {
		within(field, is)
		for _, pair := range [][2]float64{{is.Value, want.Value}, {is.Lo, want.Lo}, {is.Hi, want.Hi}} {
			if d := pair[0] - pair[1]; d > 1e-6*pair[1]+1e-12 || -d > 1e-6*pair[1]+1e-12 {
				fault("%s: %g, but energy, PUE and rate make it %g", field, pair[0], pair[1])
				return
			}
		}
	}
	within("energy_j", f.EnergyJ)
	within("pue", f.PUE)
	if f.PUE.Lo < 1 {
		fault("pue: %g is below 1", f.PUE.Lo)
	}
	whole := f.EnergyJ.times(f.PUE).scaled(1 / joulesPerKWh)
	if c := f.Carbon; c != nil {
		within("carbon.intensity_g_per_kwh", c.Intensity)
		want := whole.times(c.Intensity)
		if c.Embodied != nil {
			within("carbon.embodied_g", *c.Embodied)
			want = want.plus(*c.Embodied)
		}
		same("carbon.co2e_g", c.Grams, want)
	}
	if c := f.Cost; c != nil {
		within("cost.price_per_kwh", c.Price)
		same("cost.amount", c.Amount, whole.times(c.Price))
	}
	return faults
}

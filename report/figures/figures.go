// Package figures writes figures for people: energies, powers, times, counts and changes,
// each with its unit and with three digits that count.
//
// What goes in is a figure in its unit: microjoules, joules, watts, seconds. What comes
// out is a text that is the same in every format. A figure that is not known (nil) is "?",
// never 0.
package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unknown stands for a figure that is not known.
const unknown = "?"

// Energy writes microjoules, in the unit in which they are easiest to read, from µJ to kJ.
func Energy[E ~uint64](microjoules *E) string {
	if microjoules == nil {
		return unknown
	}
	switch v := float64(*microjoules) * 1e-6; {
	case v == 0:
		return "0 J"
	case v < 1e-3:
		return fmt.Sprintf("%.0f µJ", v*1e6)
	case v < 1:
		return Digits(v*1e3) + " mJ"
	case v < 1e4:
		return Digits(v) + " J"
	default:
		return Digits(v*1e-3) + " kJ"
	}
}

// Joules writes joules, rounded to whole microjoules, as Energy does. What is below 0,
// as the end of an interval of means can be, is 0.
func Joules(v float64) string {
	microjoules := uint64(math.Round(max(0, v) * 1e6))
	return Energy(&microjoules)
}

// SmallJoules writes joules of a unit of work, from pJ on.
func SmallJoules(v float64) string {
	if v == 0 {
		return "0 J"
	}
	for _, unit := range []struct {
		size float64
		name string
	}{{1e3, " kJ"}, {1, " J"}, {1e-3, " mJ"}, {1e-6, " µJ"}, {1e-9, " nJ"}} {
		if v >= unit.size {
			return Digits(v/unit.size) + unit.name
		}
	}
	return Digits(v*1e12) + " pJ"
}

// Interval writes the lower and the upper bound of an energy in microjoules, "?" if one
// of them is not known.
func Interval[E ~uint64](lo, hi *E) string {
	if lo == nil || hi == nil {
		return unknown
	}
	return "[" + Energy(lo) + ", " + Energy(hi) + "]"
}

// Watts writes a power.
func Watts(v *float64) string {
	if v == nil {
		return unknown
	}
	return Digits(*v) + " W"
}

// Seconds writes a time in s, from ns on; from ten minutes on as hours, minutes and seconds.
func Seconds(s float64) string {
	switch d := time.Duration(s * 1e9); {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return Digits(s*1e6) + " µs"
	case d < time.Second:
		return Digits(s*1e3) + " ms"
	case d < 10*time.Minute:
		return Digits(s) + " s"
	default:
		return d.Round(time.Second).String()
	}
}

// Grams writes a mass, from ng on.
func Grams(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, " t"}, {1e3, " kg"}, {1, " g"}, {1e-3, " mg"}, {1e-6, " µg"}} {
		if v >= unit.size {
			return Digits(v/unit.size) + unit.name
		}
	}
	return Digits(v*1e9) + " ng"
}

// Money writes an amount in a currency, from millionths on.
func Money(v float64, currency string) string {
	switch {
	case v >= .1:
		return Digits(v) + " " + currency
	case v >= 1e-4:
		return Digits(v*1e3) + " m" + currency
	}
	return Digits(v*1e6) + " µ" + currency
}

// Value writes a figure in its unit: J, s, W, or J/ and a unit of work. mark stands before energies and powers.
func Value(v *float64, unit, mark string) string {
	if v == nil {
		return unknown
	}
	switch each, isPer := strings.CutPrefix(unit, "J/"); {
	case unit == "s":
		return Seconds(*v)
	case unit == "W":
		return mark + Watts(v)
	case isPer:
		return mark + SmallJoules(*v) + "/" + each
	}
	return mark + Joules(*v)
}

// Number writes a value that has no unit, such as that of a counter of a GPU, with four digits that count.
func Number(v *float64) string {
	if v == nil {
		return unknown
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

// Percent writes a share that is in per cent: 5 is 5 %.
func Percent(v *float64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%.1f %%", *v)
}

// Change writes a relative change in per cent (0.05 is +5.0 %), or how often as much it
// is where that is twice or more.
func Change(v float64) string {
	if v >= 1 {
		return Digits(1+v) + " times"
	}
	return fmt.Sprintf("%+.1f %%", 100*v)
}

// Count writes a number with a space between thousands.
func Count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// Amount writes how many units of work there are, with a space between thousands where there are so many.
func Amount(v float64) string {
	if v >= 0 && v < 1<<53 && (v >= 1000 || v == math.Trunc(v)) {
		return Count(uint64(math.Round(v)))
	}
	return Digits(v)
}

// Calls writes mean numbers of calls of two runs, one where both have the same.
func Calls(base, head float64) string {
	whole := func(v float64) string {
		if v == math.Trunc(v) {
			return Count(uint64(v))
		}
		return fmt.Sprintf("%.1f", v)
	}
	if base == head {
		return whole(base)
	}
	return whole(base) + " → " + whole(head)
}

// Digits writes a number with three digits that count, and more before the point where it
// has more. What is not above 0 is "0".
func Digits(v float64) string {
	if v <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(v)))), v)
}

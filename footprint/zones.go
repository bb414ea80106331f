package footprint

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"cg/near"
)

// The yearly means of zones: a code, the zone's name, the year, and grams of CO2 equivalents
// for each kilowatt-hour that was generated there.
//
//go:embed ember.csv
var ember string

// Two published means of a zone's year differ, as one counts what was generated there and the
// other what was used there, with imports. Of the 86 countries for which Ember and
// Electricity Maps both have 2024, the second figure is 0.55 to 1.67 times the first for 95
// of 100, and 0.91 times in the middle.
const (
	otherLeast = 0.55
	otherMost  = 1.67
)

// zone is a row of the table.
type zone struct {
	code, name string
	year       int
	rate       float64
}

var zones = sync.OnceValue(func() map[string]zone {
	rows, err := csv.NewReader(strings.NewReader(ember)).ReadAll()
	if err != nil {
		panic("footprint: ember.csv: " + err.Error())
	}
	all := map[string]zone{}
	for _, row := range rows[1:] {
		year, notYear := strconv.Atoi(row[2])
		rate, notRate := strconv.ParseFloat(row[3], 64)
		if notYear != nil || notRate != nil {
			panic("footprint: ember.csv: " + strings.Join(row, ","))
		}
		all[strings.ToUpper(row[0])] = zone{row[0], row[1], year, rate}
	}
	return all
})

// zoneOf finds a zone: a country by its code of two or three letters (ISO 3166-1), or a
// group of countries by its name, such as EU or World.
func zoneOf(name string) (zone, error) {
	upper := strings.ToUpper(strings.TrimSpace(name))
	if z, ok := zones()[upper]; ok {
		return z, nil
	}
	if upper == "XK" { // which ISO 3166 does not have, and Ember calls so
		return zones()["XKX"], nil
	}
	if region, err := language.ParseRegion(upper); err == nil && len(upper) == 2 {
		if z, ok := zones()[region.ISO3()]; ok {
			return z, nil
		}
	}
	var names []string
	for _, z := range zones() {
		if names = append(names, z.code); strings.EqualFold(z.name, strings.TrimSpace(name)) {
			return z, nil
		}
	}
	return zone{}, fmt.Errorf("there is no zone %q; %s", name, near.Or(name, names,
		"use a country's code (DE, FRA), EU or World, or give the intensity in g/kWh"))
}

func (z zone) intensity() *intensity {
	return &intensity{
		rate: Range{z.rate, z.rate * otherLeast, z.rate * otherMost}, method: Yearly, zone: z.code,
		source: fmt.Sprintf("%s %d, Ember", z.name, z.year),
	}
}

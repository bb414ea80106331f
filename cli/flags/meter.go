package flags

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"cg/nemb"
	"cg/nemb/sensor/meter"
)

// Meters is the flag of meters that the user names.
type Meters []nemb.Meter

// Set adds the meters of a text, each a line: a variable of the environment may have several.
func (m *Meters) Set(text string) error {
	more, err := meter.ParseAll(text)
	if err != nil {
		return err
	}
	for _, one := range more {
		if slices.ContainsFunc(*m, func(o nemb.Meter) bool { return o.Covers == one.Covers }) {
			return fmt.Errorf("%s has two meters: name one, such as a command that adds up what both show", one.Covers)
		}
		*m = append(*m, one)
	}
	return nil
}

func (m *Meters) String() string { return "" }

// Meter names meters of the machine.
func Meter() cli.Flag {
	return &cli.GenericFlag{Name: meter.Name, Value: &Meters{},
		Usage: "read a meter: `COVERS,unit=UNIT,error=ERROR,WHERE`, such as 'wall,unit=W,error=2%,exec:COMMAND' " +
			"(docs/sensors.md); may be given several times"}
}

// MetersOf are the meters that a command's flags, or its settings, name.
func MetersOf(c *cli.Context) []nemb.Meter {
	if all, is := c.Generic(meter.Name).(*Meters); is {
		return *all
	}
	return nil
}

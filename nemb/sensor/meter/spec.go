package meter

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cg/mqtt"
	"cg/nemb"
	"cg/pattern"
	"cg/work"
)

// How often a meter may be read: what is faster is a counter's trade, and a power that is told more seldom
// says little about a run.
const (
	shortestPeriod = 100 * time.Millisecond
	longestPeriod  = time.Minute
	usualPeriod    = time.Second
)

// Form is how a meter is written, for messages.
const Form = "a meter is COVERS,unit=UNIT,error=ERROR[,period=TIME][,take=PATTERN],WHERE, such as " +
	"'wall,unit=W,error=2%,exec:plugctl power'"

// units are those of readings, in watts or joules.
var units = map[string]struct {
	factor float64
	energy bool
}{
	"W": {1, false}, "mW": {1e-3, false}, "kW": {1e3, false},
	"J": {1, true}, "mJ": {1e-3, true}, "kJ": {1e3, true}, "Wh": {3600, true}, "kWh": {3.6e6, true},
}

// ways are how a meter's readings are had, by what stands in front of where that is.
var ways = []string{"exec:", "lines:", "file:", "mqtt://", "mqtts://"}

var (
	partName    = pattern.Later(`^[a-z][a-z0-9-]{0,30}$`)
	packageName = pattern.Later(`^package(-[0-9]+)?$`)
	memoryName  = pattern.Later(`^dram(-[0-9]+)?$`)
	gpuName     = pattern.Later(`^gpu[0-9]+$`)
)

// taken are names of domains that stand for something else.
var taken = []string{"machine", "memory", "core", "uncore", "psys", "total"}

// Parse reads how a meter is written: what it covers, its options, and, behind all others, where its readings
// come from. That part may have commas, the others have none.
func Parse(text string) (nemb.Meter, error) {
	var m nemb.Meter
	rest, way := text, ""
	var options []string
	for {
		for _, w := range ways {
			if strings.HasPrefix(rest, w) {
				way = w
			}
		}
		if way != "" || rest == "" {
			break
		}
		var option string
		option, rest, _ = strings.Cut(rest, ",")
		options = append(options, strings.TrimSpace(option))
		rest = strings.TrimLeft(rest, " ")
	}
	if way == "" || len(options) == 0 {
		return m, fmt.Errorf("%q: it does not say where its readings come from (exec:, lines:, file:, mqtt://): %s",
			shortened(text), Form)
	}
	m = nemb.Meter{Covers: options[0], Way: strings.TrimRight(way, ":/"), Where: strings.TrimPrefix(rest, way),
		Period: usualPeriod}
	err := checkCovers(m.Covers)
	if err == nil {
		err = readOptions(&m, options[1:])
	}
	if err == nil {
		err = checkWhere(&m, rest)
	}
	if err != nil {
		return m, fmt.Errorf("%q: %w", shortened(text), err)
	}
	return m, nil
}

// shortened is a meter as it is written, up to where its readings come from: an address may have a password.
func shortened(text string) string {
	for _, way := range ways {
		if i := strings.Index(text, way); i >= 0 && strings.HasPrefix(way, "mqtt") {
			return text[:i+len(way)] + "..."
		}
	}
	return text
}

func checkCovers(name string) error {
	if !partName().MatchString(name) {
		return fmt.Errorf("%q is no name of what it covers: use wall, package, dram, gpu0, or a name of small "+
			"letters, digits and -", name)
	}
	for _, other := range taken {
		if name == other {
			return fmt.Errorf("%s is a name that cg uses itself: for the whole machine use wall, for a part another "+
				"name", name)
		}
	}
	return nil
}

func readOptions(m *nemb.Meter, options []string) error {
	seen := map[string]bool{}
	var unit, bound string
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		if seen[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		switch name {
		case "unit":
			unit = value
		case "error":
			bound = value
		case "period":
			period, err := time.ParseDuration(value)
			if err != nil || period < shortestPeriod || period > longestPeriod {
				return fmt.Errorf("period=%s: want %v to %v, such as 500ms or 10s", value, shortestPeriod,
					longestPeriod)
			}
			m.Period = period
		case "take":
			if _, err := work.Parse(value); err != nil {
				return fmt.Errorf("take=%w", err)
			}
			m.Take = value
		default:
			return fmt.Errorf("%q is no option: they are unit, error, period and take", option)
		}
	}
	u, ok := units[unit]
	if !ok {
		return fmt.Errorf("unit=%s: want one of W, mW, kW (power) and J, mJ, kJ, Wh, kWh (an energy that only "+
			"grows)", unit)
	}
	m.Unit, m.Factor, m.Energy = unit, u.factor, u.energy
	return readError(m, bound)
}

// readError reads the error of a meter: a part of its figure in percent, an amount in its unit, or both with +
// between them, as data sheets have it.
func readError(m *nemb.Meter, text string) error {
	want := fmt.Errorf("error=%s: want how far the meter may be off, as its data sheet says: 2%%, 0.5%s, "+
		"or 1%%+0.5%[2]s", text, m.Unit)
	if text == "" {
		return want
	}
	for part := range strings.SplitSeq(text, "+") {
		number, unit := part, ""
		for _, of := range []string{"%", m.Unit} {
			if n, is := strings.CutSuffix(part, of); is {
				number, unit = n, of
				break
			}
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		switch {
		case err != nil || !(v >= 0 && v < 1e9) || unit == "":
			return want
		case unit == "%" && (v >= 100 || m.ErrorPart > 0), unit != "%" && m.ErrorAmount > 0:
			return want
		case unit == "%":
			m.ErrorPart = v / 100
		default:
			m.ErrorAmount = v * m.Factor
		}
	}
	return nil
}

// checkWhere checks what stands behind the way; whole is both.
func checkWhere(m *nemb.Meter, whole string) error {
	switch m.Way {
	case "exec", "lines":
		if strings.TrimSpace(m.Where) == "" || strings.ContainsRune(m.Where, 0) {
			return errors.New("there is no command: " + Form)
		}
	case "file":
		if !filepath.IsAbs(m.Where) {
			return fmt.Errorf("file:%s: want the whole path, from / on", m.Where)
		}
	default:
		u, err := url.Parse(whole)
		if err != nil { // whose text has the password
			return errors.New("no address of a topic: want mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC")
		}
		topic := strings.TrimPrefix(u.Path, "/")
		broker := *u
		broker.Path, broker.RawPath = "", ""
		m.Where, m.Topic = broker.String(), topic
		if topic == "" || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("no address of a topic: want mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC")
		}
		return mqtt.Check(mqtt.Config{URL: m.Where, Prefix: topic})
	}
	return nil
}

// name is what a meter is called in reports and messages: without the user and the password.
func name(m nemb.Meter) string {
	if m.Topic == "" {
		return m.Way + ":" + m.Where
	}
	u, err := url.Parse(m.Where)
	if err != nil {
		return m.Way + ":" + m.Topic
	}
	u.User = nil
	return u.String() + "/" + m.Topic
}

package hespas

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cg/docs"
	"cg/report/schema"
	"cg/report/stream"
)

var compiled = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(docs.StreamSchema) })

// mostFaults is how many faults of a stream are told one by one.
const mostFaults = 20

// verify compares a stream with its schema (docs/hespas.schema.json), and looks whether what begins ends, and the
// counters of samples never fall.
func verify(f io.ReadSeeker) (faults []string, err error) {
	s, err := stream.Open(f)
	if err != nil {
		return nil, err
	}
	rules, err := compiled()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	err = rules.Read(jsontext.NewDecoder(f, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)))
	var invalid *schema.InvalidError
	if errors.As(err, &invalid) {
		faults = append(faults, invalid.Error())
	} else if err != nil {
		return nil, err
	}
	more := 0
	fault := func(format string, args ...any) {
		if len(faults) < mostFaults {
			faults = append(faults, fmt.Sprintf(format, args...))
		} else {
			more++
		}
	}
	counters := map[string]float64{}
	err = s.Replay(stream.Handler{
		Event: func(e *stream.Event, facts stream.Facts) error {
			for _, n := range facts.Numbers {
				if e.Name != eventSample || len(n.Name) < len("domain_j.") || n.Name[:len("domain_j.")] != "domain_j." {
					continue
				}
				if last, known := counters[n.Name]; known && n.Value < last {
					fault("%s falls from %s to %s at %s %s", n.Name, number(last), number(n.Value), e.Time, e.Unit)
				}
				counters[n.Name] = n.Value
			}
			return nil
		},
		Left: func(e *stream.Event) { fault("%s: its other half is missing", e.Name) },
	})
	if err != nil {
		return nil, err
	}
	if more > 0 {
		faults = append(faults, fmt.Sprintf("and %d more", more))
	}
	return faults, nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

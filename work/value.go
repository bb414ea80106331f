package work

import (
	"context"
	"io"
)

// Value is the text that a pattern takes from an output, where there is one match, or the last of several
// with last:. It may be any text: who asks knows what it is.
func (p Pattern) Value(output io.Reader) (string, error) {
	t := tally{pattern: p}
	err := p.find(reader{context.Background(), output}, &t)
	switch {
	case err != nil:
		return "", err
	case t.matches == 0:
		return "", p.missing("is not in the output")
	case t.matches > 1 && p.take != "last" || p.take == "sum" || p.take == "count":
		return "", p.missing("takes no single value from the output: put last: in front of it for the last one")
	}
	return t.last, nil
}

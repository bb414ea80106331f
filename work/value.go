package work

import "io"

// Value is the text that a pattern takes from an output, where there is one match, or the last of several
// with last:. It may be any text: who asks knows what it is.
func (p Pattern) Value(output io.Reader) (string, error) {
	found, err := p.find(output)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", p.missing("is not in the output")
	case len(found) > 1 || p.take == "sum" || p.take == "count":
		return "", p.missing("takes no single value from the output: put last: in front of it for the last one")
	}
	return found[0], nil
}

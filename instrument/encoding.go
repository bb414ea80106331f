package instrument

import (
	"fmt"
	"strconv"
	"strings"

	"cg/checkpoint"
)

// Encode writes a plan as the runtimes read it: a line for each site and each
// point, in fields separated by tabs. Lines count from 1, columns from 0.
//
//	S kind line column end-line qualified-name
//	P role line column site
//	L line qualified-name reason
//
// Sites are numbered from 1 in the order of their lines. L is a function that is left alone.
func Encode(p *Plan) string {
	var b strings.Builder
	for _, s := range p.Sites {
		fmt.Fprintf(&b, "S\t%s\t%d\t%d\t%d\t%s\n", s.Kind, s.Line, s.Col-1, s.EndLine, s.Func)
	}
	for _, l := range p.LeftAlone {
		fmt.Fprintf(&b, "L\t%d\t%s\t%s\n", l.Line, l.Name, l.Reason)
	}
	for _, q := range p.Points {
		fmt.Fprintf(&b, "P\t%s\t%d\t%d\t%d\n", q.Role, q.Line, q.Col-1, q.Site+1)
	}
	return b.String()
}

// DecodeOutline reads a plan of a whole file that a runtime has made. Its lines
// are those of Encode; each of a point has the line and the column of its end
// behind it.
func DecodeOutline(lines string) (*Plan, error) {
	p := &Plan{}
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		numbers := func(from, to int) ([]int, error) {
			var out []int
			for _, s := range f[from:to] {
				n, err := strconv.Atoi(s)
				if err != nil {
					return nil, fmt.Errorf("outline: %w", err)
				}
				out = append(out, n)
			}
			return out, nil
		}
		switch {
		case f[0] == "S" && len(f) == 6:
			n, err := numbers(2, 5)
			if err != nil {
				return nil, err
			}
			p.Sites = append(p.Sites, checkpoint.Site{
				Kind: checkpoint.SiteKind(f[1]), Line: n[0], Col: n[1] + 1, EndLine: n[2], Func: f[5],
			})
		case f[0] == "L" && len(f) == 4:
			n, err := numbers(1, 2)
			if err != nil {
				return nil, err
			}
			p.LeftAlone = append(p.LeftAlone, LeftAlone{Line: n[0], Name: f[2], Reason: f[3]})
		case f[0] == "P" && len(f) == 7:
			n, err := numbers(2, 7)
			if err != nil {
				return nil, err
			}
			if n[2] < 1 || n[2] > len(p.Sites) {
				return nil, fmt.Errorf("outline: a point of no site")
			}
			p.Points = append(p.Points, Point{Role: Role(f[1]), Line: n[0], Col: n[1] + 1, Site: n[2] - 1,
				EndLine: n[3], EndCol: n[4] + 1})
		default:
			return nil, fmt.Errorf("outline: a line that is none of a plan's")
		}
	}
	return p, nil
}

// SiteLines are the lines of a plan's sites and of what is left alone, as
// Encode writes them, without its points.
func SiteLines(p *Plan) string {
	var lines []string
	for line := range strings.Lines(Encode(p)) {
		if line[0] != 'P' {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// FileKey is the key in the channel's table of files of one that NumberSites numbers.
func FileKey(file string, p *Plan) uint64 {
	return checkpoint.FileKey("", file, SiteLines(p))
}

package text

import (
	"cg/footprint"
	"cg/report"
)

// footprint shows what an energy emits and costs, behind so much space.
func (p *printer) footprint(f *footprint.Footprint, mark, space string) {
	for _, line := range report.Lines(f, mark) {
		p.line("%s%s  %s", space, pad(line[0], 7+len(space)/2), p.cut(line[1], p.Width-9-2*len(space)))
	}
}

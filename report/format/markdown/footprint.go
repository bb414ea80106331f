package markdown

import (
	"cg/footprint"
	"cg/report"
)

// footprint shows what an energy emits and costs.
func (m *page) footprint(f *footprint.Footprint, mark string) {
	for _, line := range report.Lines(f, mark) {
		m.line("%s: %s\n", line[0], escape.Replace(line[1]))
	}
}

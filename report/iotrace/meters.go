package iotrace

import (
	"errors"
	"fmt"
	"math"

	"cg/recorder/analysis"
	"cg/report/cluster"
)

// Meters are those of the nodes of a run of many ranks (package cluster), for a trace of so
// many ranks of the same run. The energy of a node is that of its counters, by its samples. A rank has the part
// of it at each moment that it has of the whole: by processor time. An error says which rank or node has no energy.
func Meters(d *cluster.Run, name string, ranks int) ([]*analysis.Meter, error) {
	var all []*analysis.Meter
	at := map[string]*analysis.Meter{}
	energies := map[string]float64{}
	for _, n := range d.Nodes {
		m, err := meterOf(n)
		if err != nil {
			return nil, fmt.Errorf("%s: node %s: %w", name, n.Name, err)
		}
		m.Name, m.To, m.Shares = name+" "+n.Name, ranks, make([]float64, ranks)
		for i := range m.Shares {
			m.Shares[i] = math.NaN()
		}
		switch bound := d.Meta.ClockBoundNs; {
		case len(d.Nodes) == 1:
		case bound == nil:
			m.Note = "how far the clocks of the nodes are apart is not known, and nor is how far readings and calls are"
		default:
			m.Note = fmt.Sprintf("the clocks of two nodes are up to %.6f s apart, and so may be readings and calls",
				float64(*bound)*1e-9)
		}
		all, at[n.Name], energies[n.Name] = append(all, m), m, n.EnergyJ.Float()
	}
	for _, r := range d.Ranks {
		m := at[r.Node]
		if r.Rank < 0 || r.Rank >= ranks || m == nil {
			continue
		}
		if r.EnergyJ == nil {
			return nil, fmt.Errorf("%s: rank %d has no energy", name, r.Rank)
		}
		m.Shares[r.Rank] = 0
		if whole := energies[r.Node]; whole > 0 {
			m.Shares[r.Rank] = r.EnergyJ.Float() / whole
		}
	}
	return all, nil
}

// meterOf are the readings of a node. Samples that the document left out make them no longer
// add up to the node's energy: they are scaled to it.
func meterOf(n cluster.Node) (*analysis.Meter, error) {
	if n.EnergyJ == nil {
		return nil, errors.New("its energy is not known")
	}
	m := &analysis.Meter{Kind: string(n.Kind), Unix: []float64{float64(n.StartedUnixNs) * 1e-9}, Joules: []float64{0}}
	sum := 0.0
	add := func(unixNs int64, watts float64) {
		unix, last := float64(unixNs)*1e-9, len(m.Unix)-1
		if unix > m.Unix[last] {
			sum += watts * (unix - m.Unix[last])
			m.Unix, m.Joules = append(m.Unix, unix), append(m.Joules, sum)
		}
	}
	for _, s := range n.Samples {
		add(s.UnixNs, s.PowerW)
	}
	if len(n.Samples) > 0 {
		add(n.UpdatedUnixNs, n.Samples[len(n.Samples)-1].PowerW)
	}
	whole := n.EnergyJ.Float()
	if sum <= 0 { // nothing tells when it was used
		m.Unix, m.Joules, sum = m.Unix[:1], m.Joules[:1], 0
		add(n.UpdatedUnixNs, 1)
	}
	if sum <= 0 {
		return nil, errors.New("it has no samples")
	}
	for i := range m.Joules {
		m.Joules[i] *= whole / sum
	}
	m.Lo, m.Hi = 1, 1
	if whole > 0 && n.EnergyLoJ != nil && n.EnergyHiJ != nil {
		m.Lo, m.Hi = n.EnergyLoJ.Float()/whole, n.EnergyHiJ.Float()/whole
	}
	return m, nil
}

package cluster

import (
	"cg/ranks"
	"cg/report"
)

// renew makes a document of the schema before one of this: the domains of each node get the
// names that they would have now. What its digest tells of the file is kept, for then it
// is that of another text.
func (d *Run) renew() error {
	if !report.IsOld(d.Meta.SchemaVersion) {
		return nil
	}
	digest, err := d.digest()
	if err != nil {
		return err
	}
	d.asWritten, d.Meta.SchemaVersion = &digest, report.SchemaVersion
	for _, n := range d.Nodes {
		var names []*string
		for i := range n.Domains {
			names = append(names, &n.Domains[i].ID, &n.Domains[i].Parent)
		}
		renewNames(names)
	}
	return nil
}

// renewRecord does so with the record of a node. It does not tell of which schema it is, and
// names of now stay as they are.
func renewRecord(n *ranks.Node) {
	var names []*string
	for i := range n.Domains {
		names = append(names, &n.Domains[i].ID, &n.Domains[i].Parent)
	}
	renewNames(names)
}

// renewNames gives the domains of one machine, whose names these are, those of now.
func renewNames(names []*string) {
	ids := map[string]bool{}
	for _, name := range names {
		ids[*name] = true
	}
	renewed := report.NewNames(ids)
	for _, name := range names {
		if now, is := renewed[*name]; is {
			*name = now
		}
	}
}

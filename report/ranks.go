package report

import "cg/ranks"

// WarnOfRanks adds what a rank or a node of a run of many ranks has to say of its figures.
func (r *Run) WarnOfRanks(all []ranks.Warning) {
	for _, w := range all {
		switch w.Slug {
		case "node-shared":
			r.Warn("node-shared", w.Message)
		case "oversubscribed":
			r.Warn("oversubscribed", w.Message)
		case "rank-moved":
			r.Warn("rank-moved", w.Message)
		case "share-unsettled":
			r.Warn("share-unsettled", w.Message)
		}
	}
}

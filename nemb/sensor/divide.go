package sensor

import "cg/nemb"

// divide divides domains, and what each is read by, into those for which keep is true and
// the others.
func divide[T any](domains []nemb.Domain, by []T, keep func(nemb.Domain) bool) (
	kept []nemb.Domain, keptBy []T, rest []nemb.Domain, restBy []T,
) {
	for i, d := range domains {
		if keep(d) {
			kept, keptBy = append(kept, d), append(keptBy, by[i])
		} else {
			rest, restBy = append(rest, d), append(restBy, by[i])
		}
	}
	return kept, keptBy, rest, restBy
}

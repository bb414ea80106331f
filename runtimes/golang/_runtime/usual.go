package runtime

const (
	codegreenScale = 1024 // of the mean of a node's calls
	codegreenMost  = 4    // times what is not short, that a call is in the mean at most
)

// codegreenUsual is the mean of what calls of a node took, in codegreenScale parts of 256 ticks, after
// one more that took so many units of 256 ticks; and 1 if they are short, which mostly take less than
// sure ticks. A counter may be so slow that a unit is many calls. Then one call in many begins a unit,
// and the mean of them falls with each of the others until it is less than a tick. A single slow call
// changes nothing: where one in four is slow, they are not short.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenUsual(mean uint32, took, sure uint64) (uint32, uint32) {
	limit := min(sure*codegreenScale/256, 1<<29)
	took = min(took*codegreenScale, codegreenMost*limit)
	was := uint64(mean)
	if was == 0 {
		was = took
	}
	was += took/8 - was/8
	short := uint32(0)
	if was < limit {
		short = 1
	}
	return uint32(max(was, 1)), short
}

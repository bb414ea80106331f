package runtime

// codegreenRan is for how many of the ticks that a thread spent on goroutines it had a processor, as
// far as is known: for ran of passed nanoseconds, which were so many ticks. What a thread does beside
// its goroutines is in ran, too, so it had a processor for at most all of them.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenRan(onGoroutines, ticks, ran, passed uint64) uint64 {
	if ran >= passed {
		return onGoroutines
	}
	return min(onGoroutines, uint64(float64(ticks)*(float64(ran)/float64(passed))))
}

// codegreenMeanPause is how many events a pause has, in the mean, after so many events of which some
// were timed, in ran ticks of processor time.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenMeanPause(ran, events, timed uint64) uint64 {
	cost, counted := uint64(codegreenCost), uint64(codegreenCounted)
	own := timed*cost + (events-timed)*counted
	between := (max(ran*16, own) - own) / events
	want := between * codegreenBudget / 1000
	switch {
	case want >= cost:
		return 0
	case want <= counted:
		return codegreenBurst * codegreenRarest
	}
	return min(codegreenBurst*(cost-want)/(want-counted), codegreenBurst*codegreenRarest)
}

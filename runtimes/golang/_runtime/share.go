package runtime

// codegreenRan is for how many of the ticks that a thread spent on goroutines it had a processor, as
// far as is known: busy is 1 more than the 65536ths of the time for which it had one lately, or 0. What
// a thread does beside its goroutines is in them, too, so it had a processor for at most all of
// onGoroutines. The reader tells that: asking the kernel would be a system call, and a program may have
// forbidden these.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenRan(onGoroutines, ticks uint64, busy uint32) uint64 {
	if busy == 0 {
		return onGoroutines
	}
	return min(onGoroutines, uint64(float64(ticks)*(float64(busy-1)/65536)))
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

package processor

// Era is how much power servers released up to a year draw, in parts of
// the TDP of their sockets: medians over the SPECpower_ssj2008 results of 609
// servers. In a test that left out each CPU model in turn, the estimate by
// release year and TDP was off by 18.8 % on average and 48.6 % at the 95th
// percentile: wall power of whole servers.
type Era struct {
	until     int // the last year
	Idle, Max Ratio
}

// Ratio is a median with its 10th and 90th percentile.
type Ratio struct{ Median, P10, P90 float64 }

var eras = []Era{
	{2012, Ratio{.36, .26, .55}, Ratio{1.31, 1.11, 1.62}},
	{2015, Ratio{.28, .15, .39}, Ratio{1.05, .92, 1.36}},
	{2018, Ratio{.16, .11, .26}, Ratio{1.08, .82, 1.17}},
	{2021, Ratio{.20, .12, .38}, Ratio{1.04, .82, 1.20}},
	{9999, Ratio{.22, .18, .33}, Ratio{.84, .73, 1.20}},
}

// Era is that in which the processor was released, the last one for an unknown
// processor.
func (c CPU) Era() Era {
	for _, p := range eras {
		if c.March != "" && c.Year <= p.until {
			return p
		}
	}
	return eras[len(eras)-1]
}

// mostIdle is the part of its full power that a machine is taken to draw at most when idle. Nine in ten of the servers
// stay below half, but a machine with much memory or many disks, or a part of one, may be none of these.
const mostIdle = 0.8

// IdleShare is the part of its full power that a machine draws when idle: the
// median, and the most that it may be.
func (c CPU) IdleShare() (share, most float64) {
	e := c.Era()
	return e.Idle.Median / e.Max.Median, mostIdle
}

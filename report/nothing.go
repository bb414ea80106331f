package report

// WarnOfNothing warns of a run without sites, and says why it has none: WhyNothing.
func (r *Run) WarnOfNothing(usual string) {
	for _, w := range r.Warnings {
		if w.Slug == "checkpoints-off" {
			return
		}
	}
	r.Warn("nothing-instrumented", "no function has checkpoints, the figures are those of the whole program: "+
		r.WhyNothing(usual))
}

// WhyNothing says why a run has no sites. usual is what it comes from as a rule in the program's language
// (languages.Capabilities.WhyNothing), "" for modules that are not the program's.
func (r *Run) WhyNothing(usual string) string {
	for _, w := range r.Warnings {
		if w.Slug == "checkpoints-off" {
			return w.Message
		}
	}
	if len(r.Skipped) > 0 {
		return r.Skipped[0].File + ": " + r.Skipped[0].Reason
	}
	if r.Meta.Granularity == "coarse" {
		return "no file of the program that was loaded has an entry point (-g fine marks every function, --include " +
			"other files)"
	}
	if usual != "" {
		return usual
	}
	return "none of the modules that were loaded belongs to the program (--include NAME takes in an installed " +
		"package)"
}

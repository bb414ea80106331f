package report

// WarnOfNothing warns of a run without sites, and says why it has none.
func (r *Run) WarnOfNothing() {
	for _, w := range r.Warnings {
		if w.Slug == "checkpoints-off" {
			return
		}
	}
	r.Warn("nothing-instrumented", "no function has checkpoints, the figures are those of the whole program: "+
		r.WhyNothing())
}

// WhyNothing says why a run has no sites.
func (r *Run) WhyNothing() string {
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
	switch r.Meta.Language {
	case "javascript":
		return "none of the files that Node loaded belongs to the program (--include NAME takes in a package of " +
			"node_modules), or they ran through node:vm, as files of jest and vitest do"
	case "c", "cpp":
		return "no program ran that was compiled in this run (run it in the same command, behind the build)"
	}
	return "none of the modules that were loaded belongs to the program (--include NAME takes in an installed " +
		"package)"
}

package tell

// OrUnknown is s, or the sign of what is not known.
func OrUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

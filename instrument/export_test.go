package instrument

// Load takes in the sites of a file that is loaded as a module, and says of which names no place was.
func Load(s *Server, module, file, lines string) []string {
	s.bases = map[string]int{}
	if _, err := s.load(module, file, lines); err != nil {
		panic(err)
	}
	return s.Unplaced()
}

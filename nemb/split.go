package nemb

// Split divides e in proportion to the weights, to the microjoule: what rounding leaves
// goes to the largest. Without a weight above 0 nobody gets any.
func Split(e Energy, weights []float64) []Energy {
	parts := make([]Energy, len(weights))
	sum, largest := 0.0, 0
	for i, w := range weights {
		sum += w
		if w > weights[largest] {
			largest = i
		}
	}
	if sum <= 0 {
		return parts
	}
	left := e
	for i, w := range weights {
		parts[i] = min(left, Energy(float64(e)*(w/sum)))
		left -= parts[i]
	}
	parts[largest] += left
	return parts
}

// Package near finds the name that a mistyped word was probably meant to be.
//
// It takes a word and the names that would do. It returns one of them, or none where the word
// is far from all. It knows no names itself.
package near

import (
	"strconv"
	"strings"
)

// longest is the length in runes of a word that is compared. A longer one is no mistyped name.
const longest = 64

// To is the name that a word of three letters or more is the beginning of, if it is that of one
// only. Else it is the name that is nearest to the word, the first of several, and "" where
// none is near. A name is near that differs in upper and lower case and "_" for "-" only, or by
// one edit for each three letters of the word, three at most. An edit inserts, removes or
// changes a letter, or swaps two neighbours (optimal string alignment).
func To(word string, names []string) string {
	w := []rune(folded(word))
	if len(w) < 2 || len(w) > longest {
		return ""
	}
	if len(w) >= 3 {
		if name := beginning(string(w), names); name != "" {
			return name
		}
	}
	best, least := "", min(3, max(1, len(w)/3))+1
	for _, name := range names {
		n := []rune(folded(name))
		if len(n) > longest || len(n)-len(w) >= least || len(w)-len(n) >= least {
			continue
		}
		if d := distance(w, n); d < least && d < len(n) {
			best, least = name, d
		}
	}
	return best
}

// beginning is the one name that begins with a word, and "" where there are several or none.
func beginning(word string, names []string) (found string) {
	for _, name := range names {
		if !strings.HasPrefix(folded(name), word) {
			continue
		}
		if found != "" && found != name {
			return ""
		}
		found = name
	}
	return found
}

// Or asks whether the name was meant that is nearest to a word. Without one it is otherwise.
func Or(word string, names []string, otherwise string) string {
	if name := To(word, names); name != "" {
		return "did you mean " + strconv.Quote(name) + "?"
	}
	return otherwise
}

func folded(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// distance is the number of edits between two words.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Package sysfs reads the small files of /sys and /proc: one line, one number, a list of
// numbers. It does not know what they mean.
package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"cg/shown"
)

// Line reads a file of one line; "" where there is none.
func Line(name string) string {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return Text(text)
}

// Text is the name in a file's text. It stands in tables, in messages and in
// the names of columns, so it is of one line and of characters that are printed.
func Text(text []byte) string { return shown.Line(strings.TrimSpace(string(text))) }

// Number reads a decimal number from a file.
func Number(name string) (int, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: reads %q: want a number", name, text)
	}
	return n, nil
}

// Members lists the members of a list such as "0,28" or "0-1"; nil if it is
// none, or a long one.
func Members(list string) []int {
	n := Count(list)
	if n == 0 || n > 1<<16 {
		return nil
	}
	var all []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, _ := strconv.Atoi(from)
		b := a
		if isRange {
			b, _ = strconv.Atoi(to)
		}
		for ; a <= b; a++ {
			all = append(all, a)
		}
	}
	return all
}

// Count counts the members of a list such as "0-3,8,10-11"; 0 if it is
// none.
func Count(list string) int {
	n := 0
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			return 0
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(to); err != nil || b < a {
				return 0
			}
		}
		n += b - a + 1
	}
	return n
}

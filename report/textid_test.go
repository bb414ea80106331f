package report

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"cg/nemb"
)

func TestTextID(t *testing.T) {
	id := func(name, text string) string { return textID(bytes.Split([]byte(text), []byte("\n")), name) }
	first := id("shop.fib", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)")
	for _, same := range [][2]string{
		{"shop.fibonacci", "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)"},
		{"shop.Stock.fib", "    def fib(n):\n        return n if n < 2 else fib(n - 1) + fib(n - 2)"},
		{"shop.fib", "def fib(n):  \r\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\r"},
	} {
		if got := id(same[0], same[1]); got != first {
			t.Errorf("%q is %s and not %s", same[1], got, first)
		}
	}
	for _, other := range [][2]string{
		{"shop.fib", "def fib(n):\n    return n if n < 3 else fib(n - 1) + fib(n - 2)"},
		{"shop.fib", "def fib(n):\nreturn n if n < 2 else fib(n - 1) + fib(n - 2)"},
		{"shop.fib", "def fib(n):\n    return n if n < 2 else refib(n - 1) + fib(n - 2)"},
		{"shop.<lambda>", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)"},
	} {
		if got := id(other[0], other[1]); got == first {
			t.Errorf("%q has the digest of another text", other[1])
		}
	}
	// Only what was called and can be read as it was when the run began has one.
	r := example(nemb.Measured)
	r.identify(func(file string) ([]byte, time.Time, error) {
		return []byte(strings.Repeat("line\n", 55)), r.started, nil
	})
	if r.Sites[0].TextID == "" || r.Sites[1].TextID != "" || r.Sites[2].TextID != "" {
		t.Errorf("%+v", r.Sites) // the second ends beyond the file, the third never ran
	}
	for _, read := range []func(string) ([]byte, time.Time, error){
		func(string) ([]byte, time.Time, error) { return nil, time.Time{}, os.ErrNotExist },
		func(string) ([]byte, time.Time, error) {
			return []byte(strings.Repeat("line\n", 55)), r.started.Add(time.Second), nil
		},
		func(string) ([]byte, time.Time, error) { return make([]byte, MostSource+1), r.started, nil },
	} {
		r := example(nemb.Measured)
		if r.identify(read); r.Sites[0].TextID != "" {
			t.Errorf("%+v", r.Sites[0])
		}
	}
}

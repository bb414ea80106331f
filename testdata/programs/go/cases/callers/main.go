// What a program can see of its own calls: callers with their names and lines,
// from functions, methods, literals and initialisers.
package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
)

var atInit = func() string { return here(0) }()

//go:noinline
func here(skip int) string {
	pc := make([]uintptr, 20)
	n := runtime.Callers(2+skip, pc)
	frames := runtime.CallersFrames(pc[:n])
	var out []string
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "main.") {
			out = append(out, fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line))
		}
		if !more { break }
	}
	return strings.Join(out, ", ")
}

type T struct{}

func (*T) pointer() string { return here(0) }
func (T) value() string { return (&T{}).pointer() }

func deferred() (s string) {
	defer func() { s = here(0) }()
	return ""
}

func panicking() (s string) {
	defer func() { recover(); s = here(0) }()
	panic(1)
}

func main() {
	fmt.Println(atInit)
	fmt.Println(T{}.value())
	fmt.Println(func() string { return here(0) }())
	fmt.Println(deferred())
	fmt.Println(panicking())
	for i := range func(yield func(int) bool) { yield(1) } { fmt.Println(i, strings.Contains(here(0), "main.go:52")) }
	_, _, line, _ := runtime.Caller(0); fmt.Println(line)
	fmt.Println(runtime.FuncForPC(reflect.ValueOf(deferred).Pointer()).Name())
	fmt.Println(strings.Count(string(debug.Stack()), "main.main()"))
}

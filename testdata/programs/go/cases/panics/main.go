// recover takes a panic only when the deferred function itself calls it: not one
// level deeper, not by a function that is no deferred one. A deferred literal
// with a checkpoint of its own is still the deferred function. Results with names
// change on the way out, panics replace each other, and Goexit runs what is
// deferred.
package main

import (
	"errors"
	"fmt"
	"runtime"
)

func direct() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("direct: %v", r)
		}
	}()
	panic("one")
}

func helper() { fmt.Println("helper", recover()) }

func byHelper() { defer helper(); panic("two") }

type closer struct{ name string }

func (c *closer) close() { fmt.Println(c.name, recover()) }

func byMethod() { c := &closer{"method"}; defer c.close(); panic("three") }

func tooDeep() (r any) {
	defer func() { r = recover() }()
	defer func() { func() { fmt.Println("too deep", recover()) }() }()
	defer func() { deeper() }()
	panic("four")
}

func deeper() { fmt.Println("deeper", recover()) }

func builtin() { defer recover(); panic("five") }

func builtinValue() (r any) {
	defer func() { r = recover() }()
	defer panic("seven")
	panic("six")
}

func named() (n int, err error) {
	defer func() { n *= 2 }()
	defer func() {
		if n == 21 {
			err = errors.New("changed")
		}
	}()
	return 21, nil
}

func again() {
	defer func() { fmt.Println("again", recover()) }()
	defer func() {
		r := recover()
		panic(fmt.Sprint("re-", r))
	}()
	panic("eight")
}

func runtimeError() (err error) {
	defer func() {
		if e, is := recover().(runtime.Error); is {
			err = e
		}
	}()
	var s []int
	return fmt.Errorf("%d", s[len(s)])
}

func loop() (n int) {
	for i := range 5 {
		func() {
			defer func() { recover() }()
			if i%2 == 0 {
				panic(i)
			}
			n++
		}()
	}
	return n
}

func main() {
	fmt.Println(direct())
	byHelper()
	byMethod()
	fmt.Println(tooDeep())
	func() {
		defer func() { fmt.Println("builtin", recover()) }()
		builtin()
	}()
	fmt.Println(builtinValue())
	fmt.Println(named())
	again()
	fmt.Println(runtimeError(), loop())
	done := make(chan string)
	go func() {
		defer func() { done <- "goexit" }()
		defer func() { fmt.Println("nothing", recover()) }()
		func() { runtime.Goexit() }()
	}()
	fmt.Println(<-done)
	for runtime.NumGoroutine() > 1 { // they go on behind what they told
		runtime.Gosched()
	}
}

// A panic in a goroutine, with a deferred function that panics, too; the trace
// tells where the goroutine was created.
// untold: a panic of another goroutine than main ends the process
package main

import "fmt"

func cleanup() { panic(fmt.Errorf("in cleanup")) }

func work(n int) {
	defer cleanup()
	if n == 0 { panic("in work") }
	work(n - 1)
}

func main() {
	fmt.Println("begin")
	done := make(chan bool)
	go work(0)
	<-done
}

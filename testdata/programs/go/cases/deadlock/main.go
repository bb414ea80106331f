// All goroutines wait: the runtime ends the program and says where they are.
package main

import "sync"

func lock(m *sync.Mutex) { m.Lock() }

func main() {
	println("waiting")
	var m sync.Mutex
	lock(&m)
	lock(&m)
}

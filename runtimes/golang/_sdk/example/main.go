// Example measures parts of a program: one after the other, inside each other,
// and side by side.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"codegreen"
)

func squares(n int) (sum int) {
	for i := range n {
		sum += i * i % 7
	}
	return sum
}

func main() {
	s, err := codegreen.Start("example")
	if err != nil {
		log.Print(err)
	}
	defer s.Close()

	ctx, all := s.Task(context.Background(), "all")
	_, load := s.Task(ctx, "load")
	fmt.Println(squares(20_000_000))
	load.End()

	var both sync.WaitGroup
	for _, name := range []string{"left", "right"} {
		both.Go(func() {
			_, t := s.Task(ctx, name) // inside all, in its own goroutine
			defer t.End()
			fmt.Println(name, squares(10_000_000))
		})
	}
	both.Wait()
	all.End()

	for _, t := range s.Tasks() {
		fmt.Printf("%s: %.3f s, %.3f J\n", t.Name(), t.Duration().Seconds(), t.EnergyJ())
	}
	fmt.Println("written to", s.File())
}

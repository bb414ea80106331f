// Command powercap mounts a simulated machine with one processor package:
//
//	go run ./nemb/simulate/powercap -watts 20 DIR
//
// serves DIR/sys/class/powercap/intel-rapl:0, a package that draws 20 W, until
// it is interrupted, and unmounts it. CG_SYSROOT=DIR then makes cg measure
// there. It takes root and /dev/fuse.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"cg/nemb/simulate"
)

func main() {
	watts := flag.Float64("watts", 20, "power of the package")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: powercap [-watts W] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(flag.Arg(0), *watts); err != nil {
		fmt.Fprintln(os.Stderr, "powercap:", err)
		os.Exit(1)
	}
}

func serve(dir string, watts float64) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{{
		Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Power: simulate.Constant(watts)},
	}}})
	if err != nil {
		return err
	}
	<-stop
	return tree.Close()
}

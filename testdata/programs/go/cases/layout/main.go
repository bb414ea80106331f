/* Text in every form. */ package main; import "fmt"; import ( "strings"; . "strconv" ); var start = func() int { return 1 }()

const raw = `func f() { /* } */ }
package x; import "y"
` // }

func /* name */ comments /* ( */ ( /* none */ ) /* { */ int /* { */ { /* { */ return /* } */ 1 /* } */ } // }

func one() int { return 1 }; func two() int { return 2 }; func none() {}

func lines(
	a int,
	b string,
) (
	c string,
	err error,
) {

	return b + Itoa(a), nil

}

func braces() (s []string) { for _, r := range []rune{'{', '}', '\''} { s = append(s, string(r)) }; return s }
func empty() {
}
func comment() { // comment
	// only
}
func structs() any { return struct { f func() struct{} }{ func() struct{} { return struct{}{} } }.f() }
func interfaces(x interface { M() }) (y interface{}) { return func() interface{} { return x }() }
func channels(in <-chan func(), out chan<- struct{}) { select { default: }; _, _ = in, out }
func arrays() [2]func() int { return [...]func() int{ func() int { return 1 }, 1: func() int { return 2 } } }

func	tabs	(	)	{	fmt	.	Println	(	"tabs"	)	}

func main() {
	fmt.Println(comments(), one(), two(), start, strings.Count(raw, "func"))
	none(); empty(); comment(); tabs(); channels(nil, nil)
	fmt.Println(lines(1, "x"))
	fmt.Println(braces(), structs(), interfaces(nil), arrays()[1]())
}

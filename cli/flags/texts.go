package flags

import "github.com/urfave/cli/v2"

// Texts is a flag that may be given several times and whose values hold commas.
type Texts []string

// sameTexts is what the library sets the other name of such a flag to, which is the same texts. No argument
// has a NUL.
const sameTexts = "\x00"

// Set takes one more.
func (t *Texts) Set(text string) error {
	if text != sameTexts {
		*t = append(*t, text)
	}
	return nil
}

func (t *Texts) String() string { return "" }

// Serialize is asked for what a flag's other name is set to.
func (t *Texts) Serialize() string { return sameTexts }

// TextsOf are the values of such a flag.
func TextsOf(c *cli.Context, flag string) []string { return *c.Generic(flag).(*Texts) }

// Per says how units of work are counted.
func Per() cli.Flag {
	return &cli.GenericFlag{Name: "per", Value: &Texts{},
		Usage: "count units of work in the command's output: `PATTERN` is a regular expression with one " +
			"group, 'tokens: (?P<token>\\d+)', or json:token=.usage.total_tokens; sum:, last: and count: " +
			"in front are for several matches"}
}

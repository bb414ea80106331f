// Package all registers every language that cg knows. Importing it is all that is needed;
// a new language is one line here.
package all

import (
	_ "cg/languages/c"
	_ "cg/languages/golang"
	_ "cg/languages/java"
	_ "cg/languages/node"
	_ "cg/languages/python"
)

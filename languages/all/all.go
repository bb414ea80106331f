// Package all registers every language that cg knows, and holds nothing else:
// an import of it is the list of languages. A new language is a line here.
package all

import (
	_ "cg/languages/golang"
	_ "cg/languages/java"
	_ "cg/languages/python"
)

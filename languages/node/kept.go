package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"

	"cg/instrument"
	"cg/runtimes"
)

// keeper keeps files with checkpoints in cg's cache. A later run takes them from there and does not ask cg
// (runtimes/node/kept.cjs).
//
// The name of a kept file is the SHA-256 of the plans' key and of the request's parts, each behind a zero byte but for
// the key. Its content is the SHA-256 of what follows behind the first line, in digits; a line with the number of sites
// and one with the bytes that their lines take; these lines; and the text.
type keeper struct {
	cache runtimes.Cache
	key   string
	has   atomic.Bool // kept something
}

// mostKept are bytes that kept files may take. Those that are oldest are removed.
const mostKept = 512 << 20

func (k *keeper) keep(request []string, f instrument.RewrittenFile) {
	name := sum(k.key + "\x00" + strings.Join(request, "\x00"))
	content := fmt.Sprintf("%d\n%d\n%s%s", f.Sites, len(f.Lines), f.Lines, f.Text)
	if k.cache.Write(name, []byte(sum(content)+"\n"+content)) == nil { // else it is made again
		k.has.Store(true)
	}
}

// end removes what is too much, when the program has ended.
func (k *keeper) end() {
	if k.has.Load() {
		k.cache.Trim(mostKept)
	}
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cg/languages"
)

// costs are nanoseconds of a call into the addon, and of an event that JavaScript counts.
type costs struct{ Call, Counted float64 }

// usualCosts are those of a machine where they cannot be measured.
var usualCosts = costs{Call: 9, Counted: 3}

// mostCost is what no processor takes for either.
const mostCost = 1000

// costsOf measures what checkpoints cost under a node, once for each node and addon. here is the folder of the
// runtime.
func costsOf(node, version, here string, s languages.Setup) costs {
	key := sha256.New()
	for _, path := range []string{node, s.Native.Path} {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(key, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	fmt.Fprintln(key, version, filepath.Base(here))
	name := "node-costs-" + hex.EncodeToString(key.Sum(nil))[:16]
	if kept, err := s.Cache.Read(name); err == nil {
		if c, ok := readCosts(kept); ok {
			s.Cache.Used(name)
			return c
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	measure := exec.CommandContext(ctx, node, filepath.Join(here, "costs.cjs"), s.Native.Path)
	measure.Env = withoutOptions()
	printed, err := measure.Output()
	c, ok := readCosts(printed)
	if err != nil || !ok {
		return usualCosts
	}
	_ = s.Cache.Write(name, printed) // else it is measured again
	return c
}

func readCosts(text []byte) (c costs, ok bool) {
	err := json.Unmarshal(text, &c)
	return c, err == nil && c.Call > 0 && c.Call < mostCost && c.Counted > 0 && c.Counted < mostCost
}

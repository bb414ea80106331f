// Package all registers the formats that cg has: one line for each.
package all

import (
	_ "cg/report/format/jsonl"
	_ "cg/report/format/wattameter"
)

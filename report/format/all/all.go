// Package all registers the formats that cg has: one line for each.
package all

import (
	_ "cg/report/format/benchfmt"
	_ "cg/report/format/collapsed"
	_ "cg/report/format/csv"
	_ "cg/report/format/firefox"
	_ "cg/report/format/hespas"
	_ "cg/report/format/html"
	_ "cg/report/format/json"
	_ "cg/report/format/jsonl"
	_ "cg/report/format/junit"
	_ "cg/report/format/locations"
	_ "cg/report/format/lsp"
	_ "cg/report/format/markdown"
	_ "cg/report/format/openmetrics"
	_ "cg/report/format/parquet"
	_ "cg/report/format/perfetto"
	_ "cg/report/format/picture"
	_ "cg/report/format/pprof"
	_ "cg/report/format/speedscope"
	_ "cg/report/format/text"
	_ "cg/report/format/wattameter"
)

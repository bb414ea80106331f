package html

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cg/report/format"
	"cg/report/reporttest"
	"cg/track/energylog"
	"cg/track/merge"
)

// Merged logs have a page with the power over time and the figures of each log and of all.
func TestPageOfMergedLogs(t *testing.T) {
	read := func(watts int) *energylog.Rows {
		text := "unix_ns,mono_ns,reading_ns,package_0_j,package_0_w,run\n"
		for i := range 4 {
			text += fmt.Sprintf("180000000%d000000000,%d000000000,10,%d,%d,r\n", i, i+1, i*watts, watts)
		}
		rows, err := energylog.ReadRows(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	logs, err := merge.Align([]merge.Source{{Name: "<script>window.pwned=1</script>.csv", Log: read(10)},
		{Name: "n2.csv", Log: read(5)}}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	content := strings.Replace(string(reporttest.Write(t, "html", logs, format.Options{})), `<html lang="en">`,
		`<html lang="en" data-ready="true">`, 1)
	p := open(t, browserOf(t), "merged", []byte(content), 1200, 900)
	p.is(`document.scripts.length+','+window.pwned`, "0,undefined")
	p.is(`document.images[0].naturalWidth > 0`, "true")
	p.is(`[...document.querySelectorAll('tbody tr')].map((e) => [e.cells[0], e.cells[1], e.cells[2]].map((c) => c.innerText).join(' ')).join('; ')`,
		"<script>window.pwned=1</script>.csv 30.000 10.000; n2.csv 15.000 5.000; all 45.000 15.000")
	p.shot("merged")
	p.quiet()
}

// Package wattameter registers logs of cg track with the names, columns and units of WattAMeter's.
package wattameter

import (
	"cg/report/format"
	"cg/track"
)

func init() {
	format.Register(format.Format{
		Name: "wattameter", Title: "logs as those of WattAMeter, of cg track", Endings: []string{".log"},
		Writers: []format.Writer{format.Follows(track.Recording{}, track.WattAMeter)},
	})
}

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Saved is what a file of cg's holds: a run, or repeated runs of commands.
type Saved struct {
	Run      *Run
	Repeated *Repeated
}

// fileHead is what tells files apart.
type fileHead struct {
	holds   map[string]bool // fields of the whole, as far as it was read
	session bool
}

// headOf reads of a file what tells whether this cg can read it, and refuses it
// if not. In files as cg writes them that stands in front, and the rest is left
// for whoever decodes it: a large one takes seconds. The file is then at its
// beginning.
func headOf(f io.ReadSeeker) (h fileHead, err error) {
	h.holds = map[string]bool{}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return h, err
	}
	defer func() {
		if _, back := f.Seek(0, io.SeekStart); err == nil {
			err = back
		}
	}()
	refused := func(err error) (fileHead, error) {
		return h, fmt.Errorf("not a saved run: %w", locatedIn(f, err))
	}
	var meta struct {
		SchemaVersion *string `json:"schema_version"`
		CgVersion     string  `json:"cg_version"`
		Tool          string  `json:"tool"`
	}
	d := json.NewDecoder(f)
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		var any map[string]json.RawMessage // whose error tells the place
		if err := decodeOnce(f, &any); err != nil {
			return h, fmt.Errorf("not a saved run: %w", err)
		}
		return h, errors.New("not a saved run: it has no meta.schema_version")
	}
	stream := false
	for d.More() && !(h.holds["meta"] && (h.holds["tasks"] || h.holds["command"])) {
		key, err := d.Token()
		name, _ := key.(string)
		if err == nil {
			h.holds[name] = true
			var events []struct {
				Name *string `json:"event_name"`
			}
			var other json.RawMessage
			switch name {
			case "meta":
				err = d.Decode(&meta)
			case "events":
				err = d.Decode(&events)
				stream = len(events) > 0 && events[0].Name != nil
			case "tasks", "command": // the end of the way
			default:
				err = d.Decode(&other)
			}
		}
		if err != nil {
			return refused(err)
		}
	}
	h.session = meta.Tool == sessionTool
	switch {
	case meta.SchemaVersion == nil && h.holds["comparison"]:
		return h, nil
	case !h.holds["meta"] && stream:
		return h, errors.New("not a saved run: it is a CounterEventStream of HESPAS: use --from hespas")
	case meta.SchemaVersion == nil:
		return h, errors.New("not a saved run: it has no meta.schema_version")
	case *meta.SchemaVersion != SchemaVersion:
		return h, fmt.Errorf("saved by cg %s in schema version %s, and this cg reads %s: use that cg, or a newer one",
			meta.CgVersion, *meta.SchemaVersion, SchemaVersion)
	}
	return h, nil
}

// ReadSavedFrom decodes a file of cg measure or cg run and refuses what is neither, or
// is of another schema. The text need not be in memory.
func ReadSavedFrom(f io.ReadSeeker) (Saved, error) {
	head, err := headOf(f)
	switch {
	case err != nil:
		return Saved{}, err
	case head.holds["comparison"]:
		return Saved{}, errors.New("not a saved run: it is what cg compare wrote; compare the runs themselves")
	case head.holds["measurements"] && head.holds["functions"]:
		return Saved{}, errors.New("not a saved run: it has the functions of cg measure and the measurements of cg run")
	case !head.holds["measurements"] && !head.holds["command"]:
		r, err := ReadFrom(f)
		return Saved{Run: r}, err
	}
	r := &Repeated{}
	if err := decode(f, r); err != nil {
		return Saved{}, fmt.Errorf("not a saved run: %w", err)
	}
	for _, c := range r.All() {
		if len(c.Measurements) == 0 {
			return Saved{}, errors.New("it has no measurement: the command failed before the first was whole")
		}
	}
	return Saved{Repeated: r}, nil
}

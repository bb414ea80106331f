package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Head is what tells saved documents apart.
type Head struct {
	Holds   map[string]bool // fields of the whole, as far as it was read
	Session bool            // it is the file of a session
}

// HeadOf reads of a file what tells whether this cg can read it, and refuses it
// if not. In files as cg writes them that stands in front, and the rest is left
// for whoever decodes it: a large one takes seconds. The file is then at its
// beginning.
func HeadOf(f io.ReadSeeker) (h Head, err error) {
	h.Holds = map[string]bool{}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return h, err
	}
	defer func() {
		if _, back := f.Seek(0, io.SeekStart); err == nil {
			err = back
		}
	}()
	if err := otherFile(f); err != nil {
		return h, err
	}
	refused := func(err error) (Head, error) {
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
	for d.More() && !(h.Holds["meta"] && (h.Holds["tasks"] || h.Holds["command"])) {
		key, err := d.Token()
		name, _ := key.(string)
		if err == nil {
			h.Holds[name] = true
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
			case "tasks", "command":
				if !h.Holds["meta"] { // else it is the end of the way
					err = d.Decode(&other)
				}
			default:
				err = d.Decode(&other)
			}
		}
		if err != nil {
			return refused(err)
		}
	}
	if !d.More() { // the end of the whole, or of the text
		if _, err := d.Token(); err != nil {
			return refused(err)
		}
	}
	h.Session = meta.Tool == sessionTool
	switch {
	case meta.SchemaVersion == nil && h.Holds["comparison"]:
		return h, nil
	case !h.Holds["meta"] && stream:
		return h, errors.New("not a saved run: it is a CounterEventStream of HESPAS: use --from hespas")
	case meta.SchemaVersion == nil && h.Holds["document"] && h.Holds["ledger"]:
		return h, errors.New("not a saved run: it is a summary of cg monitor: cg report shows it")
	case meta.SchemaVersion == nil && h.Holds["commit"] && h.Holds["command"]:
		return h, errors.New("not a saved run: it is a history of cg gate: cg trend FILE shows it")
	case meta.SchemaVersion == nil:
		return h, errors.New("not a saved run: it has no meta.schema_version")
	case !Reads(*meta.SchemaVersion):
		return h, Unreadable(meta.CgVersion, *meta.SchemaVersion, "use that cg, or a newer one")
	}
	return h, nil
}

// otherFiles are files that cg writes and that are no document, by how they begin, with what shows them.
var otherFiles = []struct{ begins, is string }{
	{"CGEVENTS", "an event log of cg measure --events, which is shown with its run: cg report RUN.json --events FILE"},
	{"CGPM", "what cg gpu sample recorded: cg gpu decode FILE shows it"},
	{"unix_ns,", "a log of cg track: cg track merge FILE --export-plot PAGE.html shows it"},
	{`{"columns":[{"name":`, "a log of cg track: cg track merge FILE --export-plot PAGE.html shows it"},
}

// otherFile refuses a file that is no document, by its first bytes. The file is then at its beginning.
func otherFile(f io.ReadSeeker) error {
	head := make([]byte, 32)
	n, _ := io.ReadFull(f, head)
	for _, o := range otherFiles {
		if bytes.HasPrefix(head[:n], []byte(o.begins)) {
			return errors.New("not a saved run: it is " + o.is)
		}
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// BeginsWith reports whether a text is a JSON object whose first field has that name, by which documents of cg are
// told apart. The text is at its beginning afterwards.
func BeginsWith(f io.ReadSeeker, name string) bool {
	defer f.Seek(0, io.SeekStart)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	d := json.NewDecoder(f)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	key, err := d.Token()
	return err == nil && key == name
}

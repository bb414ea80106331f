package report

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Saved is what a file of cg's holds: a run, or repeated runs of commands.
type Saved struct {
	Run      *Run
	Repeated *Repeated
}

// ReadSaved decodes a file of cg measure or cg run and refuses what is neither,
// or is of another schema.
func ReadSaved(b []byte) (Saved, error) {
	var head struct {
		Meta *struct {
			SchemaVersion *string `json:"schema_version"`
			CgVersion     string  `json:"cg_version"`
		} `json:"meta"`
		Measurements *json.RawMessage `json:"measurements"`
		Functions    *json.RawMessage `json:"functions"`
		Comparison   *json.RawMessage `json:"comparison"`
	}
	err := json.Unmarshal(b, &head)
	switch {
	case err != nil:
		return Saved{}, fmt.Errorf("not a saved run: %w", located(b, err))
	case head.Comparison != nil:
		return Saved{}, errors.New("not a saved run: it is what cg compare wrote; compare the runs themselves")
	case head.Measurements == nil || head.Meta == nil || head.Meta.SchemaVersion == nil:
		r, err := Read(b)
		return Saved{Run: r}, err
	case head.Functions != nil:
		return Saved{}, errors.New("not a saved run: it has the functions of cg measure and the measurements of cg run")
	}
	if v := *head.Meta.SchemaVersion; v != SchemaVersion {
		return Saved{}, otherSchema(head.Meta.CgVersion, v)
	}
	r := &Repeated{}
	if err := json.Unmarshal(b, r); err != nil {
		return Saved{}, fmt.Errorf("not a saved run: %w", located(b, err))
	}
	for _, c := range r.all() {
		if len(c.Measurements) == 0 {
			return Saved{}, errors.New("it has no measurement: the command failed before the first was whole")
		}
	}
	return Saved{Repeated: r}, nil
}

// otherSchema refuses a file of another version of the schema.
func otherSchema(cg, version string) error {
	return fmt.Errorf("saved by cg %s in schema version %s, and this cg reads %s: use that cg, or a newer one", cg, version, SchemaVersion)
}

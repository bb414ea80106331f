package output

import (
	"errors"
	"os"

	"cg/cli/tell"
	"cg/events"
	"cg/report"
)

// OpenEvents opens a run's log. The file stays open until done.
func OpenEvents(name string, r *report.Run) (log *events.Log, done func(), err error) {
	done = func() {}
	file, err := os.Open(name)
	if err != nil {
		return nil, done, tell.Reason(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err == nil {
		log, err = events.Open(file, info.Size())
	}
	if err == nil {
		err = r.OfRun(log)
	}
	if err != nil {
		file.Close()
		return nil, done, err
	}
	return log, func() { file.Close() }, nil
}

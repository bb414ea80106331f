package gpu

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/pmsampling"
	"cg/pmsampling/cupti"
)

// evaluation computes values in a process of its own (cg gpu serve): NVIDIA's library reads images of counters
// without checking them, so that a damaged one may end the process.
type evaluation struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	said   bytes.Buffer // on its standard error
	loaded *pmsampling.CounterData
}

// newEvaluation starts the process. root is that of the sensors, "" for the live machine.
func newEvaluation(root string) (*evaluation, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := &evaluation{cmd: exec.Command(self, "gpu", "serve")}
	if root != "" {
		e.cmd.Args = append(e.cmd.Args, "--sysroot", root)
	}
	e.cmd.Stderr = &e.said
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.out = bufio.NewReader(out)
	return e, e.cmd.Start()
}

// errCrashed is that of counters with which the library's process ended.
var errCrashed = errors.New("NVIDIA's library crashed while it read the counters: the file is damaged, or its " +
	"CUPTI does not know them; make the recording anew, or try the CUPTI that recorded it (CG_CUPTI)")

// ask makes one call, with more bytes behind it.
func (e *evaluation) ask(call request, more []byte) (a reply, err error) {
	call.Bytes = int64(len(more))
	text, err := json.Marshal(call)
	if err != nil {
		return a, err
	}
	var line []byte
	if _, err = e.in.Write(append(text, '\n')); err == nil {
		if _, err = e.in.Write(more); err == nil {
			line, err = e.out.ReadBytes('\n')
		}
	}
	if err != nil {
		return a, e.died()
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("gpu serve: an answer that is no JSON: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// died says why the process is gone.
func (e *evaluation) died() error {
	e.in.Close()
	var failed *exec.ExitError
	if err := e.cmd.Wait(); !errors.As(err, &failed) {
		return fmt.Errorf("gpu serve: it ended (%w)", err)
	}
	status, ok := failed.Sys().(unix.WaitStatus)
	if ok && status.Signaled() || failed.ExitCode() == exit.StatusSelf { // as cg ends when its C code crashes
		return errCrashed
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(e.said.Bytes()), []byte("\n"))
	return fmt.Errorf("gpu serve: it ended with status %d: %s", failed.ExitCode(), line)
}

// Evaluate computes the values of samples from to to, without to.
func (e *evaluation) Evaluate(d *pmsampling.CounterData, from, to int) ([]float64, error) {
	if e.loaded != d {
		call := request{Call: "load", recorded: recorded{Chip: d.Chip, Names: d.Metrics, Completed: d.Completed}}
		if _, err := e.ask(call, d.Image); err != nil {
			return nil, err
		}
		e.loaded = d
	}
	a, err := e.ask(request{Call: "evaluate", First: from, Count: to - from}, nil)
	if err != nil {
		return nil, err
	}
	if len(a.Values) != (to-from)*len(d.Metrics) {
		return nil, fmt.Errorf("gpu serve: %d values of %d: %w", len(a.Values), (to-from)*len(d.Metrics),
			cupti.ErrMetric)
	}
	values := make([]float64, len(a.Values))
	for i, v := range a.Values {
		values[i] = math.NaN()
		if v != nil {
			values[i] = *v
		}
	}
	return values, nil
}

// Close ends the process.
func (e *evaluation) Close() {
	e.in.Close()
	io.Copy(io.Discard, e.out)
	e.cmd.Wait()
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/gpu"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/load"
	"cg/nemb"
	"cg/nemb/doctor"
	"cg/nemb/habits"
	"cg/pmsampling/cupti"
	"cg/shown"
)

// watchedGPU is how long doctor --gpu watches the counters: they move some ten times a second.
const watchedGPU = 2 * time.Second

// longestSquare is how long the load of doctor --gpu may take, of which its own phases are some twelve seconds.
const longestSquare = time.Minute

// runDoctorGPU tells what can be measured of NVIDIA's GPUs.
func runDoctorGPU(c *cli.Context, root nemb.Root) error {
	if c.IsSet("sensors") {
		return exit.Usage("doctor: -s and --gpu both say what is looked at: leave one out")
	}
	d := doctor.GPUs(root, watchedGPU)
	for _, found := range d.Habits(root, func(uuid string) ([]habits.Busy, error) { return squareLoad(root, uuid) }) {
		folder, ok := machine.HabitsFolder()
		if !ok {
			break // the diagnosis is none of what is kept
		}
		if err := habits.Keep(folder, found.Device, time.Now(), found.Readings); err != nil {
			d.Findings = append(d.Findings, doctor.Finding{Check: "habits", Level: doctor.Warning, Text: err.Error()})
		}
	}
	d.Findings = append(d.Findings, kernelFinding(root))
	d.Findings = append(d.Findings, samplingFindings(root)...)
	next, _ := d.Next()
	var err error
	if c.Bool("json") {
		err = tell.PutJSON(struct {
			*doctor.Diagnosis
			Next string `json:"next"` // the command that improves most, "" for none
		}{d, next.Fix})
	} else {
		err = putDiagnosis(d, nil, next)
	}
	if err == nil && !d.Measures {
		return exit.Of(exit.StatusFailure)
	}
	return err
}

// squareLoad puts a load on a GPU, in a process of its own: what the CUDA driver does there is no matter of cg's own.
func squareLoad(root nemb.Root, uuid string) ([]habits.Busy, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"load", "--square", "--parent", strconv.Itoa(os.Getpid())}
	if root.Dir != "" {
		args = append(args, "--sysroot", root.Dir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestSquare)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, append(args, load.GPU)...)
	if uuid != "" {
		cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES="+uuid)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it did not end within %v", longestSquare)
	}
	if text := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "cg: "); err != nil && text != "" {
		return nil, errors.New(shown.Line(text))
	} else if err != nil {
		return nil, err
	}
	var busy []habits.Busy
	for line := range strings.Lines(string(out)) {
		var b habits.Busy
		if _, err := fmt.Sscan(line, &b.From, &b.To); err != nil {
			return nil, fmt.Errorf("it told %q", line)
		}
		busy = append(busy, b)
	}
	return busy, nil
}

// kernelFinding tells whether cg measure --gpu-kernels finds what it needs.
func kernelFinding(root nemb.Root) doctor.Finding {
	f := doctor.Finding{Check: "kernels", Level: doctor.Remark}
	file, err := cupti.File(root.Dir)
	const without = "cg measure --gpu-kernels does without CUPTI here, by launches and synchronisations: "
	switch name, other, _ := gpu.OtherInjection(); {
	case os.Getenv(gpu.NVTXInjection) != "":
		f.Text = "cg measure --gpu-kernels does not work here: " + gpu.NVTXInjection + " is set (" +
			os.Getenv(gpu.NVTXInjection) + "): another tool is loaded into programs"
		f.Fix = "unset " + gpu.NVTXInjection
	case other != "":
		f.Text, f.Fix = without+name+" is set ("+other+")", "unset "+name
	case err != nil:
		f.Text, f.Fix = without+err.Error(), "pip install nvidia-cuda-cupti"
	default:
		f.Level, f.Text = doctor.Fine, "cg measure --gpu-kernels loads "+file
		if _, err := exec.LookPath("cc"); err != nil {
			f.Text += "; at first use it needs a C compiler, unless cg brought its libraries along, and there is " +
				"none in PATH"
		}
	}
	return f
}

// samplingFindings tell whether performance counters can be sampled, by GPU.
func samplingFindings(root nemb.Root) (all []doctor.Finding) {
	say := func(level doctor.Level, fix, text string) {
		all = append(all, doctor.Finding{Check: "sampling", Level: level, Text: text, Fix: fix})
	}
	l, err := cupti.Open(root.Dir)
	if err != nil {
		fix := ""
		if errors.Is(err, cupti.ErrAbsent) {
			fix = "pip install nvidia-cuda-cupti"
		}
		say(doctor.Remark, fix, "cg gpu does not work here: "+err.Error())
		return all
	}
	devices, err := l.Devices()
	if err != nil {
		say(doctor.Remark, "", "cg gpu can list metrics, and sample nothing: "+err.Error())
	}
	for _, device := range devices {
		r := gpu.RowOf(l, device)
		name := r.Name + " (" + shown.OrUnknown(r.Chip) + ", compute capability " + r.Capability + ")"
		_, err := l.Availability(device.Index)
		switch {
		case r.Samples:
			say(doctor.Fine, "", name+": cg gpu can sample its counters")
		case errors.Is(err, cupti.ErrDenied):
			say(doctor.Remark, "sudo cg gpu sample ..., or options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "+
				"/etc/modprobe.d/nvidia.conf (in a container: --cap-add=SYS_ADMIN)", name+": "+r.Reason)
		default:
			say(doctor.Remark, "", name+": "+r.Reason)
		}
	}
	return all
}

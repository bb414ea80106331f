package ranks

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MPIVariable names the variable with the folder into which the library that rides in a
// program of MPI writes (runtimes/native/mpi.c).
const MPIVariable = "CG_MPI_CALLS"

// The layout of its files.
const (
	mpiMagic  = "CGMPI001"
	mpiHeader = 64
	mpiEntry  = 64
	mpiName   = 40
)

// ReadMPI adds up what the processes of a rank spent in MPI, the most time first. It divides
// the rank's energy, in microjoules, by processor time, of which it used cpuNs.
func ReadMPI(dir string, energyUj uint64, cpuNs int64) []MPICalls {
	names, _ := filepath.Glob(filepath.Join(dir, "*.mpi"))
	by := map[string]*MPICalls{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil || len(b) < mpiHeader || string(b[:8]) != mpiMagic {
			continue
		}
		for b = b[mpiHeader:]; len(b) >= mpiEntry && b[0] != 0; b = b[mpiEntry:] {
			function, _, _ := strings.Cut(string(b[:mpiName]), "\x00")
			c := by[function]
			if c == nil {
				c = &MPICalls{Function: function}
				by[function] = c
			}
			c.Calls += binary.NativeEndian.Uint64(b[mpiName:])
			c.TimeNs += int64(binary.NativeEndian.Uint64(b[mpiName+8:]))
			c.CPUNs += int64(binary.NativeEndian.Uint64(b[mpiName+16:]))
		}
	}
	var all []MPICalls
	for _, c := range by {
		if c.Calls == 0 { // killed within its first call
			continue
		}
		if cpuNs > 0 {
			c.EnergyUj = uint64(float64(energyUj) * min(1, float64(c.CPUNs)/float64(cpuNs)))
		}
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b MPICalls) int {
		if a.TimeNs != b.TimeNs {
			return int(max(-1, min(1, b.TimeNs-a.TimeNs)))
		}
		return strings.Compare(a.Function, b.Function)
	})
	return all
}

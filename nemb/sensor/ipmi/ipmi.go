// Package ipmi reads what a server draws from its power supplies, from its management
// controller (BMC) through the kernel's IPMI device, as DCMI defines it.
package ipmi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/sensor"
)

// name is that of the source.
const name = "ipmi"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openIPMI, Rank: 20, Opened: nemb.IfUnmeasured, Wall: true,
		Metric: name, Missing: bmcWithoutDevice})
}

// The command Get Power Reading (DCMI 1.5, table 6-16): network function "group extension",
// group DCMI.
const (
	groupExtension = 0x2c
	getPower       = 0x02
	groupDCMI      = 0xdc
	systemPower    = 0x01 // mode: system power statistics
	measuring      = 0x40 // state: bit 6, power measurement is active
)

// Completion codes (IPMI 2.0, table 5-2) of a BMC that has no such command.
const (
	invalidCommand    = 0xc1
	invalidForLUN     = 0xc2
	parameterRange    = 0xc9
	notPresent        = 0xcb
	invalidField      = 0xcc
	cannotBeProvided  = 0xcd
	notPrivileged     = 0xd4
	disabled          = 0xd6
	nodeBusy          = 0xc0
	timedOut          = 0xc3
	destinationAbsent = 0xd3
)

var words = map[byte]string{
	invalidCommand: "it has no such command", invalidForLUN: "it has no such command", parameterRange: "out of range",
	notPresent: "it has no such sensor", invalidField: "it does not know this request",
	cannotBeProvided: "it cannot tell it", notPrivileged: "not with this privilege", disabled: "it is disabled",
	nodeBusy: "it is busy", timedOut: "it timed out", destinationAbsent: "it cannot be reached",
}

// refused is a completion code other than 0.
type refused byte

func (c refused) Error() string {
	text := words[byte(c)]
	if text == "" {
		text = "it refuses"
	}
	return fmt.Sprintf("the BMC does not tell its power: %s (completion code %02X)", text, byte(c))
}

// unsupported tells whether a BMC will never answer.
func (c refused) unsupported() bool {
	switch byte(c) {
	case invalidCommand, invalidForLUN, parameterRange, notPresent, invalidField, cannotBeProvided, disabled:
		return true
	}
	return false
}

// door is the way to a BMC.
type door interface {
	// ask sends a request and waits for its answer, which begins with the completion code.
	ask(function, command byte, data []byte) ([]byte, error)
	close()
}

// devices are the names that the kernel's driver ipmi_devintf gives the first BMC
// (Documentation/driver-api/ipmi.rst), below /dev.
var devices = []string{"ipmi0", "ipmi/0", "ipmidev/0"}

func openIPMI(root nemb.Root) ([]nemb.Sensor, error) {
	for _, device := range devices {
		path := root.Dev(device)
		d, err := openDevice(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, fs.ErrPermission):
			return nil, &nemb.Denied{What: "ipmi: " + path, Err: fs.ErrPermission, Domains: []string{"wall"},
				Why: "only root may open it, since who may can switch the machine off",
				Fix: "sudo cg doctor -s auto,ipmi"}
		case err != nil:
			return nil, sensor.Fixable(fmt.Errorf("ipmi: %s: %w", path, err))
		}
		return newSensor(root, d, path)
	}
	return nil, fmt.Errorf("ipmi: %s: %w", root.Dev(devices[0]), fs.ErrNotExist)
}

// newSensor makes the sensor of a BMC, and takes over the door to it.
func newSensor(root nemb.Root, d door, path string) ([]nemb.Sensor, error) {
	m := &meter{door: d, now: checkpoint.Monotime}
	watts, err := m.Watts()
	if err == nil && watts == 0 {
		err = sensor.Absent(sensor.ErrNoPower)
	}
	if err != nil {
		d.close()
		err = fmt.Errorf("ipmi: %s: %w", path, err)
		var code refused
		switch {
		case errors.As(err, &code) && code.unsupported():
			return nil, sensor.Absent(err)
		case errors.Is(err, errAnswer), errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		return nil, sensor.Fixable(err)
	}
	s := sensor.NewPower(name, sensor.WallEvery)
	s.Add(sensor.Wall("IPMI "+path+", DCMI power reading", root.CPU()),
		&sensor.Seldom{Meter: m, Every: sensor.WallEvery})
	return []nemb.Sensor{s}, nil
}

// staleAfter is for how long a BMC may show the same time stamp.
const staleAfter = 10 * time.Second

// meter asks a BMC for its power.
type meter struct {
	door  door
	now   func() checkpoint.Instant
	stamp uint32 // of the last reading, by the BMC's clock; some always show 0
	since checkpoint.Instant
	moves bool // its time stamps do
}

// errAnswer is the error of an answer that is not as DCMI has it.
var errAnswer = errors.New("the BMC answers what is no power reading (DCMI 1.5, table 6-16)")

// Watts is the power at which the BMC has read it last. A reading whose time stamp stands
// still is none.
func (m *meter) Watts() (float64, error) {
	answer, err := m.door.ask(groupExtension, getPower, []byte{groupDCMI, systemPower, 0, 0})
	if err != nil {
		return 0, err
	}
	r, err := parse(answer)
	if err != nil {
		return 0, err
	}
	at := m.now()
	if m.since == 0 || r.stamp != m.stamp {
		m.moves = m.moves || m.since != 0
		m.stamp, m.since = r.stamp, at
	} else if age := time.Duration(at - m.since); m.moves && age > staleAfter {
		return 0, fmt.Errorf("the BMC has shown the same reading for %v: it is stale", age.Round(time.Second))
	}
	return float64(r.watts), nil
}

// Close closes the device.
func (m *meter) Close() { m.door.close() }

type reading struct {
	watts uint16
	stamp uint32 // seconds since 1970, by the BMC's clock
}

// parse reads the answer to Get Power Reading, numbers in little-endian order:
//
//	0       completion code
//	1       group: DC
//	2..9    power now, least, most and mean, in watts, 2 bytes each
//	10..13  time stamp
//	14..17  of what time these are, in milliseconds
//	18      state
func parse(answer []byte) (reading, error) {
	if len(answer) > 0 && answer[0] != 0 {
		return reading{}, refused(answer[0])
	}
	if len(answer) < 19 || answer[1] != groupDCMI {
		return reading{}, fmt.Errorf("%w: % X", errAnswer, answer[:min(len(answer), 32)])
	}
	if answer[18]&measuring == 0 {
		return reading{}, sensor.Absent(errors.New("the BMC does not measure power now"))
	}
	return reading{watts: binary.LittleEndian.Uint16(answer[2:]), stamp: binary.LittleEndian.Uint32(answer[10:])}, nil
}

// bmcWithoutDevice tells of a BMC (SMBIOS type 38, "IPMI Device Information") for which no
// driver is loaded.
func bmcWithoutDevice(root nemb.Root, container bool) (text, fix string) {
	for _, device := range devices {
		if _, err := os.Stat(root.Dev(device)); err == nil {
			return "", ""
		}
	}
	if _, err := os.Stat(root.Sys("firmware/dmi/entries/38-0")); err != nil {
		return "", ""
	}
	fix = "sudo modprobe ipmi_si && sudo modprobe ipmi_devintf"
	if container {
		fix = "docker run --device /dev/ipmi0 ..."
	}
	return "there is a BMC (SMBIOS type 38), and no /dev/ipmi0: what it measures at the power supplies is not read", fix
}

package report

// IO is what the program and the descendants that it waited for read and wrote by system calls, to files, pipes and
// sockets (/proc/PID/io, proc(5)).
type IO struct {
	Reads        uint64 `json:"reads"`
	Writes       uint64 `json:"writes"`
	ReadBytes    uint64 `json:"read_bytes"`
	WrittenBytes uint64 `json:"written_bytes"`
}

package codegreen

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// AnnotateRequest tells cg monitor that a request begins. The function that it returns says that the
// request ends; only its first call does.
//
//	defer codegreen.AnnotateRequest("GET /cart")()
//
// name is the route, not the single request. The variable CG_SOCKET names what cg monitor --socket
// listens at; without it nothing is done. Nobody waits for who listens: what is not taken at once is
// dropped, and DroppedAnnotations counts it. A goroutine has no thread of its own, so cg divides the
// energy of the process among its requests by time (docs/monitor.md of cg).
func AnnotateRequest(name string) (end func()) {
	return AnnotateRequestAt(os.Getenv(requestSocketVariable), name)
}

// AnnotateRequestAt is AnnotateRequest for a socket; "" is none.
func AnnotateRequestAt(socket, name string) (end func()) {
	if socket == "" {
		return nothing
	}
	l := listenerAt(socket)
	serial, number := l.begin(name)
	if serial == 0 {
		return nothing
	}
	var once sync.Once
	return func() { once.Do(func() { l.end(serial, number) }) }
}

func nothing() {}

// DroppedAnnotations is how many beginnings and ends of requests could not be said, since nobody
// listened or took them.
func DroppedAnnotations() (n int) {
	listenersMu.Lock()
	defer listenersMu.Unlock()
	for _, l := range listeners {
		l.mu.Lock()
		n += l.dropped
		l.mu.Unlock()
	}
	return n
}

// requestLine says that a request begins or, without a name, that it ends. Times are since 1970;
// tid is 0 and cpuNs negative where they are not known.
func requestLine(number int64, name *string, atUs int64, tid int, cpuNs int64) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"annotate":"request","id":%d`, number)
	what := "end"
	if name != nil {
		what = "begin"
		text := []rune(strings.TrimSpace(*name))
		text = text[:min(len(text), requestNameMost)]
		if len(text) == 0 {
			text = []rune("?")
		}
		quoted, _ := json.Marshal(string(text)) // which cannot fail of a text
		fmt.Fprintf(&b, `,"name":%s`, quoted)
	}
	fmt.Fprintf(&b, `,"%s":%d.%06d`, what, atUs/1e6, atUs%1e6)
	if tid > 0 {
		fmt.Fprintf(&b, `,"tid":%d`, tid)
		if cpuNs >= 0 {
			fmt.Fprintf(&b, `,"cpu":%d.%09d`, cpuNs/1e9, cpuNs%1e9)
		}
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// listener is a socket at which cg listens, or not.
type listener struct {
	path string

	mu      sync.Mutex
	fd      int   // -1 without a connection
	serial  int64 // of the connection, 1 and more
	number  int64 // of the last request
	tried   time.Time
	unsent  [][]byte // ends that did not fit
	dropped int
}

var (
	listenersMu sync.Mutex
	listeners   = map[string]*listener{}
)

func listenerAt(path string) *listener {
	listenersMu.Lock()
	defer listenersMu.Unlock()
	l := listeners[path]
	if l == nil {
		l = &listener{path: path, fd: -1, serial: 1}
		listeners[path] = l
	}
	return l
}

// begin gives the numbers of the connection and of the request; 0 where nobody heard of it.
func (l *listener) begin(name string) (serial, number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	number = l.number
	if l.connected() && l.flush() && l.write(requestLine(number, &name, time.Now().UnixMicro(), 0, -1)) {
		return l.serial, number
	}
	l.dropped++
	return 0, 0
}

func (l *listener) end(serial, number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if serial != l.serial {
		return // its connection is closed, and it has ended with that
	}
	text := requestLine(number, nil, time.Now().UnixMicro(), 0, -1)
	if l.flush() && l.write(text) || serial != l.serial {
		return
	}
	if len(l.unsent) >= requestUnsentMost {
		l.dropped++
		l.close()
		return
	}
	l.unsent = append(l.unsent, text)
}

func (l *listener) connected() bool {
	if l.fd >= 0 {
		return true
	}
	if !l.tried.IsZero() && time.Since(l.tried) < requestRetryNs {
		return false
	}
	l.tried = time.Now()
	fd, err := connectUnix(l.path)
	if err != nil {
		return false
	}
	l.fd = fd
	return true
}

// write reports whether a line was taken, whole.
func (l *listener) write(line []byte) bool {
	if l.fd < 0 {
		return false
	}
	n, full := sendNow(l.fd, line)
	if n == len(line) {
		return true
	}
	if !full { // half a line, or nobody is there: who listens ends the requests
		l.close()
	}
	return false
}

// flush says the ends that did not fit before, and reports whether none is left.
func (l *listener) flush() bool {
	for len(l.unsent) > 0 && l.write(l.unsent[0]) {
		l.unsent = l.unsent[1:]
	}
	return len(l.unsent) == 0
}

func (l *listener) close() {
	if l.fd >= 0 {
		closeSocket(l.fd)
		l.fd = -1
	}
	l.unsent = nil
	l.serial++
}

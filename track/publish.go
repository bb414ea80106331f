package track

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"cg/shown"
)

// Broker says where rows go to as messages, beside the files. The messages are those of
// WattAMeter 0.9 (mqtt_publisher.py): topic PREFIX/raplreader/data or PREFIX/nvmlreader/data,
// an object of JSON with the time, the node, the run and its columns.
type Broker struct {
	Prefix string // of the topics
	Node   string // name of this machine
	// Add takes a message. It must not wait.
	Add func(topic string, payload []byte)
}

// courier makes messages of rows, apart from the threads that read.
type courier struct {
	broker  *Broker
	id      string
	mu      sync.Mutex
	pending []letter
	news    chan struct{}
}

// letter is a row on its way to messages.
type letter struct {
	from *stream
	row  row
}

// subject is what one kind of reader has in a stream: the columns of one topic.
type subject struct {
	topic   string
	columns []wattameterColumn
	derived bool // it has powers, which wait for the next row
	waiting *row
}

func newCourier(b *Broker, id string) *courier {
	return &courier{broker: b, id: id, news: make(chan struct{}, 1)}
}

// subjectsOf divides the columns of a stream by kind of reader.
func subjectsOf(prefix string, columns []column) (all []*subject) {
	at := map[string]*subject{}
	parts := map[string][]int{}
	for i, c := range columns {
		kind, _, _ := strings.Cut(c.metric, "-")
		if at[kind] == nil {
			at[kind] = &subject{topic: strings.TrimRight(prefix, "/") + "/" + kind + "reader/data"}
			all = append(all, at[kind])
		}
		parts[kind] = append(parts[kind], i)
	}
	for kind, s := range at {
		var some []column
		for _, i := range parts[kind] {
			some = append(some, columns[i])
		}
		s.columns = wattameterColumns(some)
		for i := range s.columns {
			s.columns[i].index = parts[kind][s.columns[i].index]
			s.derived = s.derived || s.columns[i].derived != ""
		}
	}
	return all
}

// add takes a row. It does not wait.
func (c *courier) add(from *stream, r row) {
	c.mu.Lock()
	c.pending = append(c.pending, letter{from, r})
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// run sends what is added until no more comes, and then the rows whose power is not known.
func (c *courier) run(ended <-chan struct{}) {
	for {
		select {
		case <-c.news:
			c.send()
			continue
		case <-ended:
		}
		c.send()
		return
	}
}

func (c *courier) send() {
	c.mu.Lock()
	letters := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, l := range letters {
		for _, s := range l.from.subjects {
			if !s.derived {
				c.broker.Add(s.topic, c.message(s, l.row, nil))
				continue
			}
			if s.waiting != nil {
				c.broker.Add(s.topic, c.message(s, *s.waiting, &l.row))
			}
			s.waiting = &l.row
		}
	}
}

// finish sends the last row of each stream, which has no power.
func (c *courier) finish(streams []*stream) {
	for _, st := range streams {
		for _, s := range st.subjects {
			if s.waiting != nil {
				c.broker.Add(s.topic, c.message(s, *s.waiting, nil))
				s.waiting = nil
			}
		}
	}
}

// message is a row as JSON. Its power holds until next; without it there is none. A value
// that is not known is null.
func (c *courier) message(s *subject, r row, next *row) []byte {
	text := func(v string) []byte {
		b, _ := json.Marshal(v)
		return shown.JSON(b)
	}
	iso := strings.TrimSuffix(time.Unix(0, r.unix).Format("2006-01-02T15:04:05.000000"), ".000000")
	buf := fmt.Appendf(nil, `{"timestamp[ns]": %d, "timestamp[iso]": "%s", "reading-time[ns]": %d, "node": %s, `+
		`"run-id": %s`, r.unix, iso, r.reading.Nanoseconds(), text(c.broker.Node), text(c.id))
	put := func(tag string, v float64, digits int) {
		buf = append(append(append(buf, ", "...), text(tag)...), ": "...)
		before := len(buf)
		if buf = number(buf, v, digits); len(buf) == before {
			buf = append(buf, "null"...)
		}
	}
	for _, col := range s.columns {
		put(col.tag, col.value(r), 6)
	}
	for _, col := range s.columns {
		if col.derived == "" || next == nil {
			continue
		}
		put(col.derived, watts(r, *next, col.index), 9)
	}
	return append(buf, '}')
}

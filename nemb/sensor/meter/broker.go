package meter

import (
	"crypto/rand"
	"fmt"
	"time"

	"cg/mqtt"
)

// connectWithin is what a broker may take until it sends what is published.
const connectWithin = 4 * time.Second

// topic is what a plug publishes through a broker.
type topic struct {
	*latest
	listener *mqtt.Listener
}

// newTopic begins to listen. What the broker has kept of before (retained messages) is no reading: nobody
// tells how old it is.
func newTopic(f figure) (*topic, error) {
	t := &topic{latest: newLatest(f)}
	var err error
	t.listener, err = mqtt.Listen(mqtt.Config{URL: f.meter.Where, Prefix: f.meter.Topic,
		ID: "cg-meter-" + rand.Text()[:13], Warn: func(string) {}}, connectWithin,
		func(payload []byte, retained bool) {
			switch {
			case retained:
			case len(payload) > largest:
				t.fail(fmt.Errorf("a message has more than %d kB", largest>>10))
			default:
				t.set(payload)
			}
		})
	return t, err
}

func (t *topic) close() { t.listener.Close() }

package mqtt

import (
	"fmt"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// Listener gets the messages of one topic.
type Listener struct{ client paho.Client }

// Listen subscribes to the topic Prefix of a Config, and gives each message to take, one after the other:
// retained says that the broker had it already, from nobody knows when. It waits for the broker so long at
// most; a connection that breaks later is made again every Retry.
func Listen(c Config, within time.Duration, take func(payload []byte, retained bool)) (*Listener, error) {
	if err := Check(c); err != nil {
		return nil, err
	}
	if c.Retry == 0 {
		c.Retry = retryEvery
	}
	asked := make(chan paho.Token, 1) // what the first connection asked for
	options := (&Publisher{config: c}).options().
		SetAutoReconnect(true).SetMaxReconnectInterval(c.Retry).SetConnectTimeout(within).
		SetConnectionLostHandler(func(paho.Client, error) {}).
		SetOnConnectHandler(func(client paho.Client) {
			token := client.Subscribe(c.Prefix, c.QoS, func(_ paho.Client, m paho.Message) {
				take(m.Payload(), m.Retained())
			})
			select {
			case asked <- token:
			default:
			}
		})
	l := &Listener{paho.NewClient(options)}
	deadline := time.Now().Add(within)
	if err := waitUntil(l.client.Connect(), deadline); err != nil {
		l.client.Disconnect(0)
		return nil, fmt.Errorf("the broker cannot be reached: %w", err)
	}
	select {
	case token := <-asked:
		err := waitUntil(token, deadline)
		if t, is := token.(*paho.SubscribeToken); err == nil && is && t.Result()[c.Prefix] == refusedTopic {
			err = fmt.Errorf("this user may not read %s", c.Prefix)
		}
		if err != nil {
			l.client.Disconnect(0)
			return nil, fmt.Errorf("the broker refuses the topic: %w", err)
		}
	case <-time.After(time.Until(deadline)):
		l.client.Disconnect(0)
		return nil, fmt.Errorf("the broker takes no topic: no answer within %v", within)
	}
	return l, nil
}

// refusedTopic is the code of a subscription that failed (MQTT 3.1.1, 3.9.3).
const refusedTopic = 0x80

// Close ends the connection.
func (l *Listener) Close() { l.client.Disconnect(100) }

func waitUntil(t paho.Token, deadline time.Time) error {
	if !t.WaitTimeout(time.Until(deadline)) {
		return fmt.Errorf("no answer in time")
	}
	return t.Error()
}

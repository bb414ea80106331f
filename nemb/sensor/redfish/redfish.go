// Package redfish reads what a server draws from its power supplies, from its management
// controller (BMC) over HTTPS, as Redfish defines it (DSP0266, DSP2046).
package redfish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/sensor"
)

// name is that of the source.
const name = "redfish"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openRedfish, Rank: 30, Opened: nemb.IfUnmeasured, Wall: true,
		Metric: name})
}

// every is how often a BMC is asked: an answer takes one 0.1 to 1 s of its own small processor.
const every = 2 * time.Second

// What a BMC may take, and send.
const (
	requestWithin  = 4 * time.Second
	openWithin     = 8 * time.Second // all requests until the first reading; discovery gives a source 10 s
	largestAnswer  = 1 << 20
	largestSecret  = 4096
	mostChassis    = 32
	mostWatts      = 1e6
	roots          = "/redfish/v1/Chassis"
	authentication = "X-Auth-Token" // DSP0266, 13.3.4
)

func openRedfish(root nemb.Root) ([]nemb.Sensor, error) {
	if root.BMC.URL == "" {
		return nil, fmt.Errorf("redfish: no BMC is named (--bmc-url): %w", fs.ErrNotExist)
	}
	c, err := newClient(root.BMC)
	if err != nil {
		return nil, err
	}
	m, err := c.open(openWithin)
	if err != nil {
		c.http.CloseIdleConnections()
		return nil, c.explain(err)
	}
	s := sensor.NewPower(name, every)
	s.Add(sensor.Wall("Redfish "+c.base+m.path+", "+m.property, root.CPU()),
		&sensor.Seldom{Meter: m, Every: every})
	return []nemb.Sensor{s}, nil
}

// open finds the meter and reads it once, all of it in a time.
func (c *client) open(within time.Duration) (*meter, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	m, err := c.find(ctx)
	var watts float64
	if err == nil {
		watts, err = m.watts(ctx)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: the BMC has not told its power within %v: %w", c.base, within, err)
	case err != nil:
		return nil, err
	case watts == 0:
		return nil, sensor.Absent(sensor.ErrNoPower)
	}
	return m, nil
}

// client asks one BMC.
type client struct {
	base           string // https://HOST[:PORT]
	user, password string // of HTTP Basic, or
	token          string // of a session
	secret         string // the file that has them
	http           http.Client
}

// newClient reads the settings. The file of the token has one line, USER:PASSWORD or the token
// of a session, and is its owner's alone.
func newClient(at nemb.BMC) (*client, error) {
	u, err := url.Parse(at.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" {
		return nil, errors.New("redfish: bmc-url is no address of a BMC: want https://HOST or https://HOST:PORT, " +
			"without a user")
	}
	c := &client{base: "https://" + u.Host, secret: at.TokenFile}
	if at.TokenFile != "" {
		text, err := readSecret(at.TokenFile)
		if err != nil {
			return nil, err
		}
		var basic bool
		if c.user, c.password, basic = strings.Cut(text, ":"); !basic {
			c.user, c.token = "", text
		}
	}
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if at.CA != "" {
		pem, err := os.ReadFile(at.CA)
		if err != nil {
			return nil, fmt.Errorf("redfish: bmc-ca: %w", sensor.Broken(err))
		}
		trusted.RootCAs = x509.NewCertPool()
		if !trusted.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("redfish: bmc-ca: %s has no certificate in PEM", at.CA)
		}
	}
	c.http = http.Client{
		Timeout: requestWithin,
		Transport: &http.Transport{TLSClientConfig: trusted, TLSHandshakeTimeout: requestWithin,
			MaxIdleConnsPerHost: 1},
		// The token is for this host alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// readSecret reads the one line of a file that nobody else may read.
func readSecret(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("redfish: bmc-token-file: %w", sensor.Broken(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("redfish: bmc-token-file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", &nemb.Denied{What: "redfish: " + name, Err: fs.ErrPermission, Domains: []string{"wall"},
			Why: "others may read the token, so it is not used", Fix: "chmod 600 " + name}
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !mayOwn(int(owner)) {
		return "", &nemb.Denied{What: "redfish: " + name, Err: fs.ErrPermission, Domains: []string{"wall"},
			Why: fmt.Sprintf("it is a file of user %d, who would choose what is sent to the BMC", owner),
			Fix: fmt.Sprintf("chown %d %s", os.Getuid(), name)}
	}
	b, err := io.ReadAll(io.LimitReader(f, largestSecret+1))
	text := strings.TrimSpace(string(b))
	if err != nil || text == "" || len(b) > largestSecret || strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("redfish: bmc-token-file: %s: want one line, USER:PASSWORD or the token of a session",
			name)
	}
	return text, nil
}

// mayOwn tells whether a user's file of secrets is used: the own one, root's, and that of the user who has
// called sudo.
func mayOwn(owner int) bool {
	self := os.Getuid()
	return owner == self || owner == 0 || self == 0 && os.Getenv("SUDO_UID") == strconv.Itoa(owner)
}

// answered is the status of an answer that is none.
type answered struct {
	path   string
	status int
}

func (a answered) Error() string {
	return fmt.Sprintf("%s: status %d (%s)", a.path, a.status, http.StatusText(a.status))
}

// errForm is the error of an answer that is not as the schemas have it.
var errForm = errors.New("the answer is not in the form of Redfish")

// get fetches a resource of the BMC.
func (c *client) get(ctx context.Context, path string, into any) error {
	if !strings.HasPrefix(path, "/redfish/") {
		return fmt.Errorf("%w: a link to %.80q", errForm, path)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("%w: a link to %.80q", errForm, path)
	}
	r.Header.Set("Accept", "application/json")
	switch {
	case c.token != "":
		r.Header.Set(authentication, c.token)
	case c.user != "":
		r.SetBasicAuth(c.user, c.password)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer+1))
	switch {
	case answer.StatusCode != http.StatusOK:
		return answered{path, answer.StatusCode}
	case err != nil:
		return err
	case len(body) > largestAnswer:
		return fmt.Errorf("%s: %w: it has more than %d bytes", path, errForm, largestAnswer)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w: %w", path, errForm, err)
	}
	return nil
}

// explain makes of an error of the way to the BMC one that says what to do.
func (c *client) explain(err error) error {
	var status answered
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	is := func(code int) bool { return errors.As(err, &status) && status.status == code }
	switch {
	case is(http.StatusUnauthorized), is(http.StatusForbidden):
		what := "it has no token; name a file that has one (--bmc-token-file)"
		if c.secret != "" {
			what = "it refuses what " + c.secret + " has: the account of a user who may log in and read is enough"
		}
		return sensor.Fixable(fmt.Errorf("redfish: %s: %w: %s", c.base, err, what))
	case is(http.StatusNotFound), errors.Is(err, fs.ErrNotExist):
		return sensor.Absent(fmt.Errorf("redfish: %s: %w", c.base, err))
	case errors.As(err, &unknown):
		return sensor.Fixable(fmt.Errorf("redfish: %w: name the certificate of its authority, or its own, with "+
			"--bmc-ca", err))
	case errors.As(err, &host), errors.As(err, &invalid):
		return sensor.Fixable(fmt.Errorf("redfish: %w: use the name that the certificate has, or give the BMC a "+
			"new one", err))
	case errors.Is(err, errForm):
		return fmt.Errorf("redfish: %s: %w", c.base, err)
	}
	return sensor.Fixable(fmt.Errorf("redfish: %w", err))
}

// optional is a property that has its zero value where a BMC leaves it out, or gives it another type than the
// schema's: the rest of the resource counts all the same.
type optional[T any] struct {
	value T
	wrong error // what is wrong with the type
}

func (o *optional[T]) UnmarshalJSON(text []byte) error {
	var v T
	if o.wrong = json.Unmarshal(text, &v); o.wrong == nil {
		o.value = v
	}
	return nil
}

type link struct {
	ID string `json:"@odata.id"`
}

// chassis is a resource Chassis (DSP2046).
type chassis struct {
	Links              optional[struct{ ComputerSystems []json.RawMessage }]
	EnvironmentMetrics optional[link]
	Power              optional[link]
}

// shown is a reading with what a resource Sensor (DSP0268) tells of it: when the sensor was read, and how
// often it is.
type shown struct {
	Reading         optional[*float64]
	ReadingTime     optional[string] // by the BMC's clock, which may be wrong
	SensingInterval optional[string] // PT1S
	DataSourceURI   optional[string] `json:"DataSourceUri"` // the sensor, of an excerpt of one
}

// environment is a resource EnvironmentMetrics. Its power is an excerpt, mostly without the time.
type environment struct{ PowerWatts optional[shown] }

// power is a resource Power, which EnvironmentMetrics has taken the place of.
type power struct {
	PowerControl []optional[struct{ PowerConsumedWatts optional[*float64] }]
}

// watts is the first of the power controls that has one: that of the whole chassis.
func (p power) watts() (s shown) {
	for _, control := range p.PowerControl {
		watts := control.value.PowerConsumedWatts
		if watts.value != nil {
			return shown{Reading: watts}
		}
		if watts.wrong != nil {
			s.Reading = watts
		}
	}
	return s
}

// meter is the power of one chassis.
type meter struct {
	client         *client
	path, property string
	read           func(context.Context) (shown, error)
	now            func() checkpoint.Instant

	time  string             // of the last reading, by the BMC's clock
	since checkpoint.Instant // when that time was seen first
}

// How long a reading may have one time, from when it was first seen: three intervals of the sensor, and this at
// least. What is older is not the power of now.
const (
	freshFor       = 10 * time.Second
	freshIntervals = 3
)

// freshFor is how long one time may stand.
func (s shown) freshFor() time.Duration {
	text, ok := strings.CutPrefix(s.SensingInterval.value, "PT") // ISO 8601, as Redfish writes durations
	every, err := time.ParseDuration(strings.ToLower(text))
	if !ok || err != nil || every < 0 || every > time.Hour {
		return freshFor
	}
	return max(freshFor, freshIntervals*every)
}

// find finds the chassis whose power is the machine's: the first that holds a computer and
// shows a power, else the first that shows one. Others may be enclosures, disks or boards in it.
func (c *client) find(ctx context.Context) (*meter, error) {
	var all struct{ Members []link }
	if err := c.get(ctx, roots, &all); err != nil {
		return nil, err
	}
	var spare *meter
	for _, member := range all.Members[:min(len(all.Members), mostChassis)] {
		var ch chassis
		if err := c.get(ctx, member.ID, &ch); err != nil {
			return nil, err
		}
		m, err := c.meterOf(ctx, ch)
		switch {
		case err != nil:
			return nil, err
		case m != nil && len(ch.Links.value.ComputerSystems) > 0:
			return m, nil
		case m != nil && spare == nil:
			spare = m
		}
	}
	if spare == nil {
		return nil, sensor.Absent(fmt.Errorf("%s: none of %d chassis shows its power", roots, len(all.Members)))
	}
	return spare, nil
}

// ways are where a resource has a power.
var ways = map[string]func(context.Context, *client, string) (shown, error){
	"PowerWatts": func(ctx context.Context, c *client, path string) (s shown, err error) {
		var e environment
		err = c.get(ctx, path, &e)
		if s = e.PowerWatts.value; e.PowerWatts.wrong != nil {
			s.Reading.wrong = e.PowerWatts.wrong
		}
		return s, err
	},
	"PowerConsumedWatts": func(ctx context.Context, c *client, path string) (shown, error) {
		var p power
		err := c.get(ctx, path, &p)
		return p.watts(), err
	},
	"Reading": func(ctx context.Context, c *client, path string) (s shown, err error) {
		err = c.get(ctx, path, &s)
		return s, err
	},
}

// at is the meter of a resource and what it shows, nil where that is no power.
func (c *client) at(ctx context.Context, path, property string) (*meter, shown, error) {
	way := ways[property]
	m := &meter{path: path, property: property, now: checkpoint.Monotime, client: c,
		read: func(ctx context.Context) (shown, error) {
			s, err := way(ctx, c, path)
			if err == nil && s.Reading.wrong != nil {
				err = fmt.Errorf("%s: %w: %w", path, errForm, s.Reading.wrong)
			}
			return s, err
		}}
	s, err := m.read(ctx)
	if err != nil || s.Reading.value == nil {
		return nil, s, err
	}
	return m, s, nil
}

// meterOf is what shows the power of a chassis; nil for nothing.
func (c *client) meterOf(ctx context.Context, ch chassis) (*meter, error) {
	for _, way := range []struct {
		link     link
		property string
	}{{ch.EnvironmentMetrics.value, "PowerWatts"}, {ch.Power.value, "PowerConsumedWatts"}} {
		if way.link.ID == "" {
			continue
		}
		m, now, err := c.at(ctx, way.link.ID, way.property)
		var status answered
		if errors.As(err, &status) && status.status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m != nil && now.ReadingTime.value == "" && now.DataSourceURI.value != "" {
			// The sensor itself tells when it was read, on a BMC that has it.
			own, of, err := c.at(ctx, now.DataSourceURI.value, "Reading")
			if err == nil && own != nil && of.ReadingTime.value != "" {
				return own, nil
			}
		}
		if m != nil {
			return m, nil
		}
	}
	return nil, nil
}

// Watts is the power that the BMC shows now. None (null), one that no machine draws, and one that the BMC has
// not read anew for long are errors.
func (m *meter) Watts() (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestWithin)
	defer cancel()
	return m.watts(ctx)
}

func (m *meter) watts(ctx context.Context) (float64, error) {
	s, err := m.read(ctx)
	now := m.now()
	switch {
	case err != nil:
		return 0, err
	case s.Reading.value == nil:
		return 0, fmt.Errorf("%s: the BMC shows no %s now", m.path, m.property)
	case !(*s.Reading.value >= 0 && *s.Reading.value <= mostWatts):
		return 0, fmt.Errorf("%s: %s is %v: want a power", m.path, m.property, *s.Reading.value)
	}
	if read := s.ReadingTime.value; read != m.time {
		m.time, m.since = read, now
	} else if old := time.Duration(now - m.since); m.time != "" && old > s.freshFor() {
		return 0, fmt.Errorf("%s: the BMC has not read its sensor for %v: its ReadingTime stays %.40q", m.path,
			old.Round(time.Second), m.time)
	}
	return *s.Reading.value, nil
}

// Close closes the connection.
func (m *meter) Close() { m.client.http.CloseIdleConnections() }

package footprint

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// The most that is read of a file or an answer, and how long an answer may take.
const (
	mostBytes = 64 << 20
	patience  = 10 * time.Second
)

// Open reads the series in a file, or that a web server sends for an http:// or https://
// address.
func Open(name string) (*Series, error) {
	if IsAddress(name) {
		return get(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSeries(name, &bounded{from: f, left: mostBytes})
}

// bounded reads so many bytes, and fails where there are more: a table that was cut would pass for
// a shorter one.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		return int(b.left), fmt.Errorf("it has more than %d MiB: keep only the rows of the time of the run",
			mostBytes>>20)
	}
	b.left -= int64(n)
	return n, err
}

// IsAddress tells an http:// or https:// address from the name of a file. Schemes have no case.
func IsAddress(name string) bool {
	scheme, _, ok := strings.Cut(strings.TrimSpace(name), "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// FileOf is the file that an intensity (Settings.Intensity) names, false for numbers and addresses.
func FileOf(text string) (name string, ok bool) {
	return text, text != "" && !isNumber().MatchString(text) && !IsAddress(text)
}

// withoutSecrets is an address without user, password and query, where services take tokens:
// reports name it.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func get(address string) (*Series, error) {
	name := withoutSecrets(address)
	client := http.Client{Timeout: patience}
	answer, err := client.Get(address)
	var asked *url.Error // which has the address
	if errors.As(err, &asked) {
		err = asked.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be asked: %w", name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", name, answer.Status)
	}
	return ReadSeries(name, &bounded{from: answer.Body, left: mostBytes})
}

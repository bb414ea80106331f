package footprint

import (
	"bytes"
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
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return get(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSeries(name, io.LimitReader(f, mostBytes))
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
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: the answer broke off: %w", name, err)
	}
	return ReadSeries(name, bytes.NewReader(body))
}

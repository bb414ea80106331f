package footprint

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
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

func get(address string) (*Series, error) {
	client := http.Client{Timeout: patience}
	answer, err := client.Get(address)
	if err != nil {
		return nil, fmt.Errorf("cannot be asked: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: the answer broke off: %w", address, err)
	}
	return ReadSeries(address, bytes.NewReader(body))
}

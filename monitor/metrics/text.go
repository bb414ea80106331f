package metrics

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Text is what the registry gathers, in the text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/), byte for byte. It is written without the registry,
// which makes, checks and sorts all metrics anew for each who asks, and once for all who ask for a snapshot. Nobody
// changes it.
func (e *Exporter) Text() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.text == nil {
		e.text = textOf(e.collect())
	}
	return e.text
}

func textOf(all []sample) (text []byte) {
	orders := map[string][]int{} // of the labels, by their names
	for _, s := range all {
		if orders[s.name] == nil {
			order := make([]int, len(s.labels))
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(i, j int) int { return cmp.Compare(s.labels[i], s.labels[j]) })
			orders[s.name] = order
		}
	}
	slices.SortStableFunc(all, func(a, b sample) int {
		if by := cmp.Compare(a.name, b.name); by != 0 {
			return by
		}
		for _, i := range orders[a.name] {
			if by := cmp.Compare(a.values[i], b.values[i]); by != 0 {
				return by
			}
		}
		return 0
	})
	last := ""
	for i := range all {
		s := &all[i]
		if s.name != last {
			last = s.name
			kind := "counter"
			if s.kind == prometheus.GaugeValue {
				kind = "gauge"
			}
			text = append(append(append(text, "# HELP "+s.name+" "...), helpEscapes.Replace(s.help)...), '\n')
			text = append(text, "# TYPE "+s.name+" "+kind+"\n"...)
		}
		text = append(text, s.name...)
		before := byte('{')
		for _, k := range orders[s.name] {
			text = append(append(append(text, before), s.labels[k]...), '=', '"')
			text = append(appendEscaped(text, s.values[k]), '"')
			before = ','
		}
		if before == ',' {
			text = append(text, '}')
		}
		text = append(strconv.AppendFloat(append(text, ' '), s.value, 'g', -1, 64), '\n')
	}
	return text
}

var helpEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// appendEscaped appends a label's value.
func appendEscaped(text []byte, value string) []byte {
	for _, c := range []byte(value) {
		switch c {
		case '\\', '"':
			text = append(text, '\\', c)
		case '\n':
			text = append(text, '\\', 'n')
		default:
			text = append(text, c)
		}
	}
	return text
}

// handler answers who asks for text that is not packed with Text, and all others with the registry, mostAtOnce at a
// time. Nobody on this machine gains by packing it.
func handler(e *Exporter, others http.Handler) http.Handler {
	places := make(chan struct{}, mostAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			http.Error(w, "too many ask at once, try again later", http.StatusServiceUnavailable)
			return
		}
		form := expfmt.Negotiate(r.Header)
		if form.FormatType() != expfmt.TypeTextPlain || packs(r) || r.URL.RawQuery != "" {
			others.ServeHTTP(w, r)
			return
		}
		text := e.Text()
		w.Header().Set("Content-Type", string(form))
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Write(text)
	})
}

// packs reports whether somebody of another machine takes a packed answer.
func packs(r *http.Request) bool {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return r.Header.Get("Accept-Encoding") != "" && (ip == nil || !ip.IsLoopback())
}

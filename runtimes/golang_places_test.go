package runtimes

import (
	"encoding/binary"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"

	"cg/checkpoint"
)

var goPlaces = goKind{name: "places", folder: "places"}

// TestGoPlaces: a place counts how often its call came there. What is called there has the call as its parent, and
// goes back to the place: after a return, a panic, the end of a goroutine, and a turn of others. What a function says
// that has no checkpoints is of nobody's places. A budget changes none of that, nor do events that are words, too.
func TestGoPlaces(t *testing.T) {
	for _, c := range []struct {
		program string
		n       int
		want    map[string]uint64 // calls by path; @ stands before the numbers of places
	}{
		{"loop", 1000, map[string]uint64{"1": 1, "1.4": 1, "1.4.@5": 1001, "1.4.@6": 1000, "1.4.2": 1000}},
		{"panics", 100, map[string]uint64{"1": 1, "1.7": 100, "1.7.@8": 100, "1.7.@9": 100, "1.7.2": 200, "1.7.10": 100,
			"1.7.10.@11": 100, "1.7.10.4": 100, "1.7.10.4.@5": 100, "1.7.10.12": 100, "1.7.10.12.@13": 100}},
		{"exits", 50, map[string]uint64{"1": 1, "4": 50, "4.@5": 50}},
		{"deep", 3, map[string]uint64{"1": 1, "1.4": 1, "1.4.@5": 1, "1.4.@6": 1, "1.4.4": 1, "1.4.4.@5": 1, "1.4.4.@6": 1,
			"1.4.4.4": 1, "1.4.4.4.@5": 1, "1.4.4.4.@6": 1, "1.4.4.4.4": 1, "1.4.4.4.4.@5": 1}},
		{"others", 20, map[string]uint64{"1": 1, "1.2": 20}},
		{"threads", 500, map[string]uint64{"1": 1, "4": 8, "4.@5": 4000, "4.@6": 4000, "4.2": 4000}},
	} {
		for _, how := range []string{"sums", "words", "budget"} {
			f := newGoTrees(t, 1<<12, 64)
			switch how {
			case "words":
				binary.NativeEndian.PutUint32(f.channel[324:], 1)
			case "budget":
				f.keepTo(100)
			}
			s := f.run(t, goPlaces, nil, c.program, strconv.Itoa(c.n))
			got, events := map[string]uint64{}, uint64(0)
			for path, sum := range s.paths {
				if path == "" {
					continue
				}
				got[path] = sum.calls
				if events += sum.calls; !strings.Contains(path, "@") {
					events += sum.calls
				} else if sum.away != 0 {
					t.Errorf("%s, %s: frames left %s, which is no call", c.program, how, path)
				}
				if how != "budget" && sum.calls > 0 && sum.ticks == 0 {
					t.Errorf("%s, %s: no time in %s", c.program, how, path)
				}
			}
			if !maps.Equal(got, c.want) || s.events != events || s.lost != 0 || s.joined != 0 || s.out != "done\n" {
				t.Errorf("%s, %s: %v, want %v; %d events of %d, %d lost, %d joined, %s", c.program, how, got, c.want, s.events,
					events, s.lost, s.joined, s.out)
			}
			if how == "words" {
				words := f.words()
				for call := range c.want {
					if site := call[strings.LastIndex(call, ".")+1:]; site[0] != '@' {
						n, _ := strconv.Atoi(site)
						if in, out := words[[2]int{0, n}], words[[2]int{1, n}]; in == 0 || in != out {
							t.Errorf("%s: %d words that %s begins, %d that it ends", c.program, in, site, out)
						}
					}
				}
				for word, n := range words {
					if s.calls(word[1]) == 0 {
						t.Errorf("%s: %d words of %d, which is no function", c.program, n, word)
					}
				}
			}
		}
	}
}

// words counts the words of a channel by kind and site, but for strands.
func (f *goTrees) words() map[[2]int]int {
	got := map[[2]int]int{}
	for chunk := range goChunks {
		words := f.channel[8192+chunk*65536:][64:65536]
		for ; len(words) > 0; words = words[8:] {
			if w := checkpoint.Word(binary.NativeEndian.Uint64(words)); w != 0 && w.Kind() != checkpoint.Strand {
				got[[2]int{int(w.Kind()), int(w.Site()) - goBase}]++
			}
		}
	}
	return got
}

// TestGoPlacesTimes: a place has the time that its call spends there. The times of calls, and the records of long ones,
// are of calls, wherever in their code these end.
func TestGoPlacesTimes(t *testing.T) {
	f := newGoTrees(t, 1<<12, 16)
	binary.NativeEndian.PutUint64(f.channel[328:], 1<<20)
	s := f.run(t, goPlaces, nil, "times", "20")
	at8, at9, call := s.paths["1.7.@8"], s.paths["1.7.@9"], s.paths["1.7"]
	if ratio := float64(at8.ticks) / float64(at9.ticks); at8.calls != 40 || at9.calls != 20 || ratio < .5 || ratio > 2 {
		t.Errorf("%+v\n%+v", at8, at9)
	}
	if call.calls != 20 || call.ticks*10 > at9.ticks {
		t.Errorf("%+v", call)
	}
	long := map[int]int{}
	for _, l := range s.long {
		long[l.site]++
	}
	// The scheduler may run another goroutine in a call, whose time is not known then.
	if long[7] < 10 || long[7] > 20 || long[8]+long[9] > 0 {
		t.Errorf("%v", long)
	}
	timed := f.goTimed(t)
	if timed[7] < 10*64 || timed[7] > 20*64 || timed[2] < 20*64 || timed[2] > 40*64 || timed[8]+timed[9] > 0 {
		t.Errorf("%v", timed)
	}
}

// TestGoPlacesNone: where no node is left for places, the time is the call's, and what comes there is counted as joined.
// Every call is there.
func TestGoPlacesNone(t *testing.T) {
	f := newGoTrees(t, 112, 16)
	s := f.run(t, goPlaces, nil, "wide", "0")
	calls, places := uint64(0), uint64(0)
	for path, sum := range s.paths {
		if strings.Contains(path, "@") {
			places += sum.calls
		} else if path != "" {
			calls += sum.calls
		}
	}
	if calls != 65 || places >= 64 || places+s.joined < 64 || s.lost != 0 || s.events != 2*65+64 {
		t.Errorf("%d calls, %d places, %d joined, %d events, %d lost", calls, places, s.joined, s.events, s.lost)
	}
}

// TestGoPlacesOfKnownTimes: on a clock of their own, lines have the times that they took within 5 %, and exact counts. A
// line that calls a function has the time of the event besides with which that call begins.
func TestGoPlacesOfKnownTimes(t *testing.T) {
	v := goRunVirtual(t, goVirtualBuild(t), "lines", 1, 0)
	for site, count := range map[int]uint64{3: 1, 4: 4, 5: 6, 6: 1} {
		p, want := v.places[site], v.placed[site]
		if site == 5 {
			want += float64(v.calls[8]) * goVirtualCost
		}
		if p.Function != 2 || p.Count != 20_000*count {
			t.Errorf("line %d: %+v, want it %d times", site, p, 20_000*count)
		}
		if v.placed[site] == 0 || math.Abs(float64(p.Time)/want-1) > .05 {
			t.Errorf("line %d took %d, want %g", site, p.Time, want)
		}
	}
	if v.called[2] != 20_000 || v.called[8] != 60_000 || len(v.placed) != 4 {
		t.Errorf("%v %v", v.called, v.placed)
	}
}

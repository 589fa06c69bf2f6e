package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// figure is one line of the table before it is measured.
type figure struct {
	name, unit, peer string
	better           string // "lower" or "higher"
	// goal bounds the ratio, or ours when the peer is the goal itself. Zero is none.
	goal float64
}

// goalPeer stands where there is nobody to compare with.
const goalPeer = "goal"

// result is one line of docs/benchmarks.json.
type result struct {
	Name     string  `json:"name"`
	Ours     float64 `json:"ours"`
	Peer     float64 `json:"peer"`
	PeerName string  `json:"peer_name"`
	Unit     string  `json:"unit"`
	Ratio    float64 `json:"ratio"`
	Better   string  `json:"better"`
	// OursRange and PeerRange are the lowest and the highest of the runs.
	OursRange []float64 `json:"ours_range,omitempty"`
	PeerRange []float64 `json:"peer_range,omitempty"`
	// Measured is when, and Load what others did on the machine before.
	Measured string `json:"measured,omitempty"`
	Commit   string `json:"commit,omitempty"`
	Load     string `json:"load,omitempty"`

	figure figure
}

// isMet says whether the goal was reached; without a goal it was.
func (r result) isMet() bool {
	switch {
	case r.figure.goal == 0:
		return true
	case r.Better == "higher":
		return r.Ratio >= r.figure.goal
	}
	return r.Ratio <= r.figure.goal
}

// samples collects numbers by figure.
type samples struct{ ours, peer map[string][]float64 }

func (s *samples) forget() { *s = samples{} }

func (s *samples) addOurs(name string, v float64) { s.ours = addSample(s.ours, name, v) }
func (s *samples) addPeer(name string, v float64) { s.peer = addSample(s.peer, name, v) }

func addSample(m map[string][]float64, name string, v float64) map[string][]float64 {
	if m == nil {
		m = map[string][]float64{}
	}
	m[name] = append(m[name], v)
	return m
}

// show prints the newest samples: a long measurement should be watched.
func (s *samples) show(out io.Writer, i, of int) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.ours)) {
		part := name + " " + formatNumber(s.ours[name][len(s.ours[name])-1])
		if peer := s.peer[name]; len(peer) > 0 {
			part += " against " + formatNumber(peer[len(peer)-1])
		}
		parts = append(parts, part)
	}
	fmt.Fprintf(out, "bench: run %d of %d: %s\n", i, of, strings.Join(parts, ", "))
}

func (s *samples) results(figures []figure) []result {
	var all []result
	for _, f := range figures {
		ours, peer := s.ours[f.name], s.peer[f.name]
		r := result{Name: f.name, PeerName: f.peer, Unit: f.unit, Better: f.better,
			figure: f.withGoalRatio(), OursRange: computeBounds(ours), PeerRange: computeBounds(peer)}
		r.Ours, r.Peer = computeMedian(ours), computeMedian(peer)
		if f.peer == goalPeer {
			r.Peer = f.goal
		}
		r.Ours, r.Peer = roundTo3(r.Ours), roundTo3(r.Peer)
		// Of the medians that are printed, so that a reader can check it.
		r.Ratio = roundTo3(r.Ours / r.Peer)
		all = append(all, r)
	}
	return all
}

// withGoalRatio makes the goal one of the ratio.
func (f figure) withGoalRatio() figure {
	if f.peer == goalPeer {
		f.goal = 1
	}
	return f
}

// computeBounds are nothing for a single run: it has no spread.
func computeBounds(values []float64) []float64 {
	if len(values) < 2 {
		return nil
	}
	return []float64{roundTo3(slices.Min(values)), roundTo3(slices.Max(values))}
}

func computeMedian(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

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
	// RatioRange is the middle half of the single rounds' ratios.
	RatioRange []float64 `json:"ratio_range,omitempty"`
	// Measured is when, and Others what others did on the machine meanwhile: see disturbance. Rows
	// of earlier days have the load average before instead.
	Measured string       `json:"measured,omitempty"`
	Commit   string       `json:"commit,omitempty"`
	Others   *disturbance `json:"others,omitempty"`
	Load     string       `json:"load,omitempty"`

	figure figure
}

// isMet says whether the median reached the goal; without a goal it did.
func (r result) isMet() bool {
	return r.figure.goal == 0 || r.reaches(r.figure.goal)
}

// reaches says whether the ratio is at least as good as another.
func (r result) reaches(ratio float64) bool {
	if r.Better == "higher" {
		return r.Ratio >= ratio
	}
	return r.Ratio <= ratio
}

// isNoise says that the goal lies within the middle half of the rounds: another day may be on its
// other side.
func (r result) isNoise() bool {
	return r.figure.goal != 0 && len(r.RatioRange) == 2 &&
		r.RatioRange[0] < r.figure.goal && r.figure.goal < r.RatioRange[1]
}

// isBehind says that a peer does better; a goal is nobody.
func (r result) isBehind() bool { return r.PeerName != goalPeer && !r.reaches(1) }

// samples collects numbers by figure.
type samples struct {
	ours, peer map[string][]float64
	// turn counts rounds, and decides who begins.
	turn int
}

func (s *samples) forget() { s.ours, s.peer = nil, nil }

// inTurn measures ours and the peer; who begins changes with each round.
func (s *samples) inTurn(ours, peer func() error) error {
	if s.turn%2 == 1 {
		ours, peer = peer, ours
	}
	if err := ours(); err != nil {
		return err
	}
	return peer()
}

// snapshot returns what takes back later samples.
func (s *samples) snapshot() (restore func()) {
	ours, peer := maps.Clone(s.ours), maps.Clone(s.peer)
	return func() { s.ours, s.peer = ours, peer }
}

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
		if len(peer) == 0 && f.peer != goalPeer {
			continue // the peer is not to be had here
		}
		r := result{Name: f.name, PeerName: f.peer, Unit: f.unit, Better: f.better,
			figure: f.withGoalRatio(), OursRange: computeBounds(ours), PeerRange: computeBounds(peer)}
		r.Ours, r.Peer = computeMedian(ours), computeMedian(peer)
		if f.peer == goalPeer {
			r.Peer = f.goal
		}
		r.Ours, r.Peer = roundTo3(r.Ours), roundTo3(r.Peer)
		// Of the medians that are printed, so that a reader can check it.
		r.Ratio = roundTo3(r.Ours / r.Peer)
		r.RatioRange = computeMiddle(ours, peer, r.Peer)
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

// computeMiddle is the middle half of the rounds' ratios.
func computeMiddle(ours, peer []float64, goal float64) []float64 {
	var ratios []float64
	for i, v := range ours {
		switch {
		case len(peer) == 0:
			ratios = append(ratios, v/goal)
		case i < len(peer):
			ratios = append(ratios, v/peer[i])
		}
	}
	if len(ratios) < 4 {
		return nil
	}
	slices.Sort(ratios)
	quarter := len(ratios) / 4
	return []float64{roundTo3(ratios[quarter]), roundTo3(ratios[len(ratios)-1-quarter])}
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

package sweep_test

import (
	"strconv"
	"testing"
	"time"
)

// settleParts is how many parts the places are dealt out to: `make bench` measures
// one of them in each of its runs.
const settleParts = 5

// BenchmarkSettle is what `make bench` publishes as settle_after_kill: how long an
// agent that died by kill -9 takes at most, from the start of its process until the
// control plane has heard that the deployment rests where its goal wants it. One
// agent is on the machine at a time. What the tests demand is demanded here too.
func BenchmarkSettle(b *testing.B) {
	s := newSite(b)
	for part := range settleParts {
		b.Run(strconv.Itoa(part), func(b *testing.B) {
			var longest time.Duration
			for b.Loop() {
				longest = max(longest, s.dieInTurn(b, part))
			}
			b.ReportMetric(longest.Seconds(), "longest-s")
		})
	}
}

// dieInTurn dies at the places of one part, and returns the longest settling.
func (s *site) dieInTurn(b *testing.B, part int) (longest time.Duration) {
	for i, place := range failpointNames() {
		if i%settleParts != part || s.end.beyond(place) || !s.has(place) {
			continue
		}
		if took, died := s.dieAt(b, place, i); died {
			longest = max(longest, took)
		}
	}
	return longest
}

package agent

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/wire"
)

// Whatever is added, stored and sent: the record is bounded, numbers follow each
// other, nothing that is stored is sent again, and a message is small.
func TestRecord_IsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRecord()
		start := time.Now()
		for i := range rapid.IntRange(1, 12).Draw(t, "acts") {
			if rapid.Bool().Draw(t, "store") {
				r.dropStored(wire.Stored{Boot: r.boot, Number: rapid.Int64Range(0, r.last+2).Draw(t, "n")})
				continue
			}
			many := rapid.SampledFrom([]int{0, 7, 900, 2500}).Draw(t, "services")
			services := make([]wire.ServiceVitals, many)
			for range rapid.SampledFrom([]int{1, 2, 30}).Draw(t, "times") {
				r.addSample(start, wire.Vitals{Services: services})
			}
			b := r.nextBatch(start.Add(time.Duration(i) * time.Second))
			points := 0
			for k, s := range b.Items {
				points += countPoints(s)
				if s.Number <= r.stored || k > 0 && s.Number != b.Items[k-1].Number+1 {
					t.Fatalf("item %d is %d, stored %d", k, s.Number, r.stored)
				}
				if s.Age != int64(i)*1000 {
					t.Fatalf("age %d after %d s", s.Age, i)
				}
			}
			if points > pointsAtMost && len(b.Items) > 1 || len(b.Items) > samplesAtMost {
				t.Fatalf("a message of %d samples, %d points", len(b.Items), points)
			}
		}
		points := 0
		for _, m := range r.kept {
			points += countPoints(m.sample)
		}
		if points != r.points || points > recordPoints && len(r.kept) > 1 ||
			len(r.kept) > recordLength {
			t.Fatalf("kept %d samples, %d points, counted %d", len(r.kept), points, r.points)
		}
	})
}

// An hour of an idle node fits, and no more.
func TestRecord_KeepsAnHour(t *testing.T) {
	r := newRecord()
	for range recordLength + 5 {
		r.addSample(time.Now(), wire.Vitals{})
	}
	if len(r.kept) != recordLength || r.kept[0].sample.Number != 6 {
		t.Errorf("kept %d from number %d", len(r.kept), r.kept[0].sample.Number)
	}
}

// A life's numbers mean nothing in the next one.
func TestRecord_IgnoresAnotherLife(t *testing.T) {
	r := newRecord()
	for range 5 {
		r.addSample(time.Now(), wire.Vitals{})
	}
	r.dropStored(wire.Stored{Boot: "before", Number: 5})
	if got := len(r.nextBatch(time.Now()).Items); got != 5 {
		t.Errorf("%d of 5 are left", got)
	}
}

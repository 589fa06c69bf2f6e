package agent

import (
	"math"
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
			b := r.nextBatch(start.Add(time.Duration(i)*time.Second), nil)
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
	if got := len(r.nextBatch(time.Now(), nil).Items); got != 5 {
		t.Errorf("%d of 5 are left", got)
	}
}

// A node at rest sends measurements that hardly differ as one sample: their sums stay, and so does
// how many they are. One that differs stays by itself, and what is kept does not change.
func TestRecord_JoinsWhatHardlyDiffersAtRest(t *testing.T) {
	r := newRecord()
	start := time.Now()
	size := wire.Inventory{CPU: 4, Memory: 100 << 30}
	add := func(second int, cpu float64, memory int64) {
		r.addSample(start.Add(time.Duration(second)*time.Second), wire.Vitals{CPU: cpu,
			MemoryUsed: memory, DiskFree: 1000 - int64(second), Services: []wire.ServiceVitals{
				{Deployment: "d", Step: "web", CPU: cpu / 2, Memory: memory / 2}}})
	}
	for i := range 7 {
		add(i*5, .5+.01*float64(i%2), 10<<30)
	}
	add(35, 3, 10<<30)
	add(40, .5, 10<<30)
	now := start.Add(time.Minute)
	// promise: P-05
	b := r.nextBatch(now, &size)
	if len(b.Items) != 4 || b.Items[0].Number != 6 || b.Items[0].Count != 6 ||
		b.Items[1].Number != 7 || b.Items[2].Number != 8 || b.Items[3].Number != 9 {
		t.Fatalf("sent %+v", b.Items)
	}
	first := b.Items[0]
	if math.Abs(first.CPU-.505) > 1e-9 || math.Abs(first.Services[0].CPU-.2525) > 1e-9 ||
		first.Memory != 10<<30 || first.DiskFree != 975 || first.Age != 47_500 {
		t.Errorf("six are %+v", first)
	}
	if all := r.nextBatch(now, nil).Items; len(all) != 9 || all[0].CPU != .5 || all[0].Count != 0 ||
		all[0].Services[0].CPU != .25 {
		t.Errorf("of nine, %d are left as they were: %+v", len(all), all)
	}
	r.dropStored(wire.Stored{Boot: r.boot, Number: 6})
	if b = r.nextBatch(now, &size); len(b.Items) != 3 || b.Items[0].Number != 7 {
		t.Errorf("after six were stored, sent %+v", b.Items)
	}
}

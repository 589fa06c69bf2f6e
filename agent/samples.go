package agent

import (
	"crypto/rand"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// recordLength is an hour of samples at the usual interval. If the control plane is away
	// for longer, the curves have a gap; nothing else depends on them.
	recordLength = 720
	// recordPoints bounds what a node with many services keeps, to some two
	// megabytes: one point per sample and one more per service in it.
	recordPoints = 20_000
	// samplesAtLeast is the smallest batch worth a message; samplesAtMost and pointsAtMost keep a
	// batch below the size limit of one.
	samplesAtLeast = 3
	samplesAtMost  = 60
	pointsAtMost   = 2_000
	// stretchAtMost is how many measurements of a node at rest are sent as one sample.
	stretchAtMost = 6
	// samplesAgain is how long to wait for an acknowledgement before the batch is sent again.
	samplesAgain = 30 * time.Second
)

// sampleRecord keeps measurements until the control plane has stored them. When it is full, the
// oldest are dropped.
type sampleRecord struct {
	// boot identifies this process: sequence numbers start anew with each start of the agent.
	boot string

	mu     sync.Mutex
	last   int64
	stored int64
	kept   []measurement
	points int
}

// measurement is a sample and when it was taken, by the monotonic clock.
type measurement struct {
	at     time.Time
	sample wire.Sample
}

func newRecord() *sampleRecord { return &sampleRecord{boot: rand.Text()} }

// addSample numbers a measurement and keeps it.
func (r *sampleRecord) addSample(at time.Time, v wire.Vitals) {
	s := wire.Sample{CPU: v.CPU, Memory: v.MemoryUsed, DiskFree: v.DiskFree, Flow: v.Flow}
	for _, u := range v.Services {
		s.Services = append(s.Services, wire.ServiceUse{Deployment: u.Deployment, Step: u.Step,
			CPU: u.CPU, Memory: u.Memory, Flow: u.Flow})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	s.Number = r.last
	r.kept = append(r.kept, measurement{at, s})
	r.points += countPoints(s)
	for len(r.kept) > 1 && (len(r.kept) > recordLength || r.points > recordPoints) {
		r.dropLocked(1)
	}
}

func countPoints(s wire.Sample) int { return 1 + len(s.Services) }

func (r *sampleRecord) dropLocked(n int) {
	for _, m := range r.kept[:n] {
		r.points -= countPoints(m.sample)
	}
	clear(r.kept[:n]) // The array lives on below the slice.
	r.kept = r.kept[n:]
}

// dropStored drops samples that are in the database.
func (r *sampleRecord) dropStored(a wire.Stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Boot != r.boot {
		return
	}
	r.stored = max(r.stored, min(a.Number, r.last))
	n := 0
	for n < len(r.kept) && r.kept[n].sample.Number <= a.Number {
		n++
	}
	r.dropLocked(n)
}

// isStored reports whether a number is in the database.
func (r *sampleRecord) isStored(number int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return number <= r.stored
}

// nextBatch returns the oldest samples that are not stored, as one message; empty if there
// are too few to send. If the node rests, its size is given, and measurements that hardly differ
// become one sample.
func (r *sampleRecord) nextBatch(now time.Time, rests *wire.Inventory) wire.Samples {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := wire.Samples{Boot: r.boot}
	if len(r.kept) < samplesAtLeast {
		return out
	}
	points := 0
	for _, m := range r.kept[:min(len(r.kept), samplesAtMost)] {
		m.sample.Age = max(0, now.Sub(m.at).Milliseconds())
		if n := len(out.Items); n > 0 && rests != nil && isSameUse(out.Items[n-1], m.sample, *rests) {
			joinSample(&out.Items[n-1], m.sample)
			continue
		}
		if points += countPoints(m.sample); points > pointsAtMost && len(out.Items) > 0 {
			break
		}
		out.Items = append(out.Items, m.sample)
	}
	return out
}

// oldestAge returns the age of the oldest sample that is not stored; 0 if there is none.
func (r *sampleRecord) oldestAge(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) == 0 {
		return 0
	}
	return now.Sub(r.kept[0].at)
}

// isSameUse reports whether a measurement hardly differs from the stretch before it, so that it may
// be added to it.
func isSameUse(stretch, next wire.Sample, size wire.Inventory) bool {
	return max(1, stretch.Count) < stretchAtMost &&
		math.Abs(next.CPU-stretch.CPU) <= bandShare*size.CPU &&
		!isOutside(stretch.Memory, next.Memory, bandShare*float64(size.Memory)) &&
		slices.EqualFunc(stretch.Services, next.Services, func(a, b wire.ServiceUse) bool {
			return a.Deployment == b.Deployment && a.Step == b.Step &&
				math.Abs(a.CPU-b.CPU) <= bandShare*size.CPU &&
				!isOutside(a.Memory, b.Memory, bandShare*float64(size.Memory))
		})
}

// joinSample adds a measurement to the stretch before it. The stretch gets services of its own:
// those that it has are kept for the next time.
func joinSample(stretch *wire.Sample, next wire.Sample) {
	n := max(1, stretch.Count)
	// The middle between the first and the last one moves by half a step.
	stretch.Age -= (stretch.Age - next.Age) / int64(n+1)
	stretch.Number, stretch.Count = next.Number, n+1
	stretch.CPU = meanWith(stretch.CPU, next.CPU, n)
	stretch.Memory = int64(meanWith(float64(stretch.Memory), float64(next.Memory), n))
	stretch.DiskFree = min(stretch.DiskFree, next.DiskFree)
	stretch.Flow = meanFlow(stretch.Flow, next.Flow, n)
	stretch.Services = slices.Clone(stretch.Services)
	for i, u := range next.Services {
		s := &stretch.Services[i]
		s.CPU = meanWith(s.CPU, u.CPU, n)
		s.Memory = int64(meanWith(float64(s.Memory), float64(u.Memory), n))
		s.Flow = meanFlow(s.Flow, u.Flow, n)
	}
}

func meanFlow(mean, next wire.Flow, n int) wire.Flow {
	return wire.Flow{NetIn: meanWith(mean.NetIn, next.NetIn, n),
		NetOut:      meanWith(mean.NetOut, next.NetOut, n),
		DiskRead:    meanWith(mean.DiskRead, next.DiskRead, n),
		DiskWritten: meanWith(mean.DiskWritten, next.DiskWritten, n)}
}

// meanWith is the mean of n values whose mean is known, and one more.
func meanWith(mean, next float64, n int) float64 { return mean + (next-mean)/float64(n+1) }

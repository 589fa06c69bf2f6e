package agent

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// busyShare is how much of the CPU may be in use while a node rests. Placement refuses nodes
	// that were busy for minutes, and reads every measurement for that.
	busyShare = 0.25
	// bandShare is how much a figure may differ from the one that was reported: CPU and memory of
	// their size. It is a tenth of what is free of memory and disk if that is less.
	bandShare     = 0.02
	bandOfFree    = 0.1
	longestWatch  = 10 * time.Minute
	mostAttached  = 500
	overdueMargin = 10 * time.Second
)

// vitalsPace decides which measurements one session reports: all of them while the control plane
// did not say that the node may rest, while somebody needs them, and while the node is busy;
// otherwise those that differ from what was reported last, and one in each period of rest. So what
// the control plane knows is always right within a band, however old it is.
type vitalsPace struct {
	mu sync.Mutex
	// rest is the longest time between two reports; 0: the node must not rest.
	rest time.Duration
	// until is when nobody needs every measurement any more.
	until time.Time
	// last is what was reported last, and at when; nil before the first report.
	last *wire.Vitals
	at   time.Time
}

// takeWatch follows a command of the control plane.
func (p *vitalsPace) takeWatch(now time.Time, w wire.Watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = time.Duration(w.Rest) * time.Second
	p.until = now.Add(min(time.Duration(w.Seconds)*time.Second, longestWatch))
}

// isResting reports whether measurements may wait for the next report of vitals.
func (p *vitalsPace) isResting(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isRestingLocked(now)
}

func (p *vitalsPace) isRestingLocked(now time.Time) bool {
	return p.rest > 0 && p.last != nil && !now.Before(p.until)
}

// isDue reports whether a measurement has to be reported.
func (p *vitalsPace) isDue(now time.Time, v *wire.Vitals, size wire.Inventory) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case v == nil || v == p.last:
		return false
	case !p.isRestingLocked(now), now.Sub(p.at) >= p.rest:
		return true
	}
	return isBusy(*v, size) || differs(*p.last, *v, size)
}

// markReported notes what is reported, and adds what only a control plane reads that lets nodes
// rest.
func (p *vitalsPace) markReported(now time.Time, v *wire.Vitals, every time.Duration) wire.Vitals {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.at = v, now
	out := *v
	if p.rest > 0 {
		out.Within = int((p.rest + 2*every).Seconds())
		out.Pong = true
	}
	return out
}

// overdue is how old a sample gets before it is sent without vitals.
func (p *vitalsPace) overdue() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rest + overdueMargin
}

func isBusy(v wire.Vitals, size wire.Inventory) bool {
	return size.CPU <= 0 || v.CPU >= busyShare*size.CPU
}

// differs reports whether somebody who decides by the reported figures could decide otherwise by
// the measured ones.
func differs(told, now wire.Vitals, size wire.Inventory) bool {
	free := max(0, size.Memory-told.MemoryUsed)
	memory := min(bandShare*float64(size.Memory), bandOfFree*float64(free))
	return math.Abs(now.CPU-told.CPU) > bandShare*size.CPU ||
		isOutside(told.MemoryUsed, now.MemoryUsed, memory) ||
		isOutside(told.MemoryUsed-told.MemoryOurs, now.MemoryUsed-now.MemoryOurs, memory) ||
		isOutside(told.DiskFree, now.DiskFree, bandShare*float64(told.DiskFree)) ||
		!slices.EqualFunc(told.Services, now.Services, isSameCondition) ||
		!isSameCare(told.Images, now.Images)
}

func isOutside(told, now int64, band float64) bool {
	return math.Abs(float64(now-told)) > band
}

// isSameCondition compares what people see of a service at once. What a healthy one says may be a
// time, or a count.
func isSameCondition(a, b wire.ServiceVitals) bool {
	return a.Deployment == b.Deployment && a.Step == b.Step && a.Health == b.Health &&
		a.Ended == b.Ended && a.Restarts == b.Restarts &&
		(a.Health == wire.HealthHealthy || a.Detail == b.Detail)
}

func isSameCare(a, b *wire.ImageCare) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && a.Removed == b.Removed && a.Freed == b.Freed && a.Floor == b.Floor
}

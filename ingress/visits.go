package ingress

import (
	"sync"
	"sync/atomic"
	"time"
)

// visitEvery is how often a deployment's visits are reported at most. Lifetimes are counted
// in hours, and a load test must not cause a flood of database rows.
const visitEvery = time.Minute

// visitReports remembers when a visit of each deployment was last reported.
type visitReports struct {
	tell func(deploymentID string)
	last sync.Map // deployment id → *stamp
}

// atomicTime is a time in Unix nanoseconds; zero is never.
type atomicTime struct{ at atomic.Int64 }

func (v *visitReports) stampOf(deploymentID string) *atomicTime {
	s, _ := v.last.LoadOrStore(deploymentID, new(atomicTime))
	return s.(*atomicTime)
}

// recordVisit reports a visit unless one was reported less than a minute ago. Of concurrent
// requests exactly one reports.
func (v *visitReports) recordVisit(deploymentID string, s *atomicTime, now time.Time) {
	last := s.at.Load()
	if last != 0 && now.UnixNano()-last < int64(visitEvery) {
		return
	}
	if s.at.CompareAndSwap(last, now.UnixNano()) {
		v.tell(deploymentID)
	}
}

// forgetUnused drops deployments that no route uses now, so that the map does not grow
// without limit. A stamp younger than a minute stays: its deployment may come back at once.
func (v *visitReports) forgetUnused(used map[string]bool, now time.Time) {
	v.last.Range(func(id, s any) bool {
		old := now.UnixNano()-s.(*atomicTime).at.Load() >= int64(visitEvery)
		if old && !used[id.(string)] {
			v.last.Delete(id)
		}
		return true
	})
}

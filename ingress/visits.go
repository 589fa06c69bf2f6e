package ingress

import (
	"sync"
	"sync/atomic"
	"time"
)

// visitEvery is how often one deployment's visits are told at most. Lifetimes
// count in hours, and a load test must not become a flood of rows.
const visitEvery = time.Minute

// visits remembers when each deployment's last visit was told.
type visits struct {
	tell func(deploymentID string)
	last sync.Map // deployment id → *stamp
}

// stamp is a time in Unix nanoseconds; zero is never.
type stamp struct{ at atomic.Int64 }

func (v *visits) of(deploymentID string) *stamp {
	s, _ := v.last.LoadOrStore(deploymentID, new(stamp))
	return s.(*stamp)
}

// note tells a visit unless one was told less than a minute ago. Of many
// requests at one moment exactly one tells.
func (v *visits) note(deploymentID string, s *stamp, now time.Time) {
	last := s.at.Load()
	if last != 0 && now.UnixNano()-last < int64(visitEvery) {
		return
	}
	if s.at.CompareAndSwap(last, now.UnixNano()) {
		v.tell(deploymentID)
	}
}

// forget drops the deployments nobody has a use for any more, so that the map
// does not grow with every deployment there ever was. A stamp younger than a
// minute stays: its deployment may come back at once.
func (v *visits) forget(used map[string]bool, now time.Time) {
	v.last.Range(func(id, s any) bool {
		old := now.UnixNano()-s.(*stamp).at.Load() >= int64(visitEvery)
		if old && !used[id.(string)] {
			v.last.Delete(id)
		}
		return true
	})
}

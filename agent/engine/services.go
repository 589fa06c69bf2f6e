package engine

import (
	"slices"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// stableAfter is how long a service must run before its restart backoff is reset.
const stableAfter = time.Minute

// serviceTable is what is known of the services that were started.
type serviceTable struct {
	*core
	byStep map[pipeline.StepKey]*service
}

func (t *serviceTable) reset() { t.byStep = map[pipeline.StepKey]*service{} }

// service is what is known of one of them.
type service struct {
	down bool
	// hushed: stopped while the deployment is quiesced.
	hushed bool
	// seen: it is known whether it runs.
	seen, runs bool
	// finished: it was a job, and ended with code 0.
	finished bool
	// changed is when it was last started. Listings taken before that are ignored.
	changed  time.Time
	next     time.Time
	tries    int
	restarts int
}

func (t *serviceTable) serviceState(key pipeline.StepKey) *service {
	s := t.byStep[key]
	if s == nil {
		s = &service{}
		t.byStep[key] = s
	}
	return s
}

// observeService records whether a service runs. One that exited waits longer before each
// restart; one that was removed from outside, or lost its network, does not.
func (t *serviceTable) observeService(s *service, running, taken bool) {
	if running {
		s.down = false
		if t.now.Sub(s.changed) > stableAfter {
			s.tries = 0
		}
		return
	}
	if s.down {
		return
	}
	if t.now.Sub(s.changed) > stableAfter {
		s.tries = 0
	}
	s.down = true
	if taken {
		s.next = t.now.Add(retryDelay(0))
		return
	}
	s.next = t.now.Add(retryDelay(s.tries))
	s.tries++
}

func (t *serviceTable) hasDownService() bool {
	return slices.ContainsFunc(t.order, func(key pipeline.StepKey) bool {
		s := t.byStep[key]
		return s != nil && s.down
	})
}

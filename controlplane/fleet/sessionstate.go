package fleet

import (
	"time"

	"github.com/nullops/nullops/controlplane/lifecycle"
)

func (s *session) recordRenewal(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.good = at
}

func (s *session) sinceRenewed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.good)
}

func (s *session) hasHeld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding
}

// setHeld notes what the agent leaves alone.
func (s *session) setHeld(now lifecycle.ProtectedDeployments) {
	s.held = now
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = len(now.Named) > 0 || len(now.Purging) > 0 || now.Everything
}

package fleet

import (
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// replacePatience is how long the agent of an incompatible node may be away before its node is
// offline. It is most likely being replaced by one of our release, and what runs on the node does
// not stop: visitors wait for the new agent, see Dialer.OpenTunnel.
const replacePatience = 10 * time.Second

// absences are those of agents of another release.
type absences struct {
	mu    sync.Mutex
	since map[controlplane.NodeID]time.Time
}

// isShort notes that an agent could not be reached, and reports whether it may come back soon.
func (a *absences) isShort(id controlplane.NodeID, err error) bool {
	if !isAgentAway(err) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[controlplane.NodeID]time.Time{}
	}
	began, away := a.since[id]
	if !away {
		began = time.Now()
		a.since[id] = began
	}
	return time.Since(began) < replacePatience
}

// end notes that an agent was reached.
func (a *absences) end(id controlplane.NodeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, id)
}

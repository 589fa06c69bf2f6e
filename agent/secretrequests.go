package agent

import (
	"sync"

	"github.com/nullops/nullops/agent/wire"
)

// secretRequests are the secrets that deployments wait for.
type secretRequests struct {
	*base
	mu     sync.Mutex
	wanted map[string]secretsRequest
	wishes int64
}

// secretsRequest is an open request for a run's secrets. The number distinguishes a new
// request for the same run from an earlier one that was answered.
type secretsRequest struct {
	wire.SecretsWanted
	number   int64
	refusals int
}

func (sr *secretRequests) setWanted(id string, w wire.SecretsWanted) {
	sr.mu.Lock()
	defer sr.mu.Unlock()
	if w.Run == "" {
		delete(sr.wanted, id)
		return
	}
	sr.wishes++
	sr.wanted[id] = secretsRequest{SecretsWanted: w, number: sr.wishes}
	sr.report.notifyAll()
}

// resolveWish finds the deployment whose request for secrets this answers, and ends the
// request. It ignores answers for an older generation: while the disk is full, the same
// request is sent and refused many times, and those refusals arrive after the goal has been
// replaced. A refusal counts only when it is repeated, since the database may not have seen
// this goal yet.
func (sr *secretRequests) resolveWish(s wire.Secrets) string {
	sr.mu.Lock()
	defer sr.mu.Unlock()
	for id, w := range sr.wanted {
		if w.Run != s.Run || w.Generation != s.Generation {
			continue
		}
		if s.Refused != "" && w.refusals == 0 {
			w.refusals++
			sr.wishes++
			w.number = sr.wishes
			sr.wanted[id] = w
			sr.report.notifyAll()
			return ""
		}
		delete(sr.wanted, id)
		return id
	}
	return ""
}

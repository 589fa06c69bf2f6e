package agent

import (
	"bytes"
	"context"
	"slices"

	"github.com/nullops/nullops/agent/wire"
)

// keepWitnessed is how many ends of the audit are remembered. More than one
// tells where a history that was written anew leaves the old one.
const keepWitnessed = 16

// takeWitness leaves the newest end to storeWitnessed: a session never waits
// for the disk.
func (a *Agent) takeWitness(h wire.AuditHead) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.witnessed:
	default:
	}
	a.witnessed <- h
}

func (a *Agent) storeWitnessed(ctx context.Context) error {
	for {
		select {
		case h := <-a.witnessed:
			if err := a.state.witness(h); err != nil {
				a.log.Error("the end of the audit cannot be stored", "error", err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// witness adds an end of the audit to what is remembered. Nothing is judged or
// taken back here: only the control plane knows what an end stands for.
func (s *state) witness(h wire.AuditHead) error {
	return s.change(func(f *stateFile) bool {
		if n := len(f.Audit); n > 0 && f.Audit[n-1].Seq == h.Seq &&
			bytes.Equal(f.Audit[n-1].Link, h.Link) {
			return false
		}
		f.Audit = thinned(append(slices.Clone(f.Audit), h))
		return true
	})
}

// thinned drops every other one of the older half when there are too many, so
// that some of them are old and the newest are all there.
func thinned(all []wire.AuditHead) []wire.AuditHead {
	if len(all) <= keepWitnessed {
		return all
	}
	half := len(all) / 2
	var rest []wire.AuditHead
	for i, h := range all {
		if i >= half || i%2 == 0 {
			rest = append(rest, h)
		}
	}
	return rest
}

// witnessed is what is remembered; never nil, which would say that nothing can
// be.
func (s *state) witnessed() []wire.AuditHead {
	return append([]wire.AuditHead{}, s.now().Audit...)
}

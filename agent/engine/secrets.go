package engine

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// secrets asks for the run's bundle and knows whether it is here. The values are the caller's.
type secrets struct {
	*core
	state   secretState
	refusal string
}

func (s *secrets) reset() { s.state, s.refusal = secretsUnknown, "" }

type secretState int

const (
	secretsUnknown secretState = iota
	secretsWanted
	secretsHere
	secretsRefused
)

// onSecretsArrived records that the bundle is here. Without a history of the run it also
// takes from the bundle which plugins ran.
func (s *secrets) onSecretsArrived(e SecretsArrived) {
	if s.work == nil || e.Run != s.work.Run {
		return
	}
	s.state = secretsHere
	if !s.blind {
		return
	}
	for _, key := range e.Outputs {
		s.recordEarlierRun(StepState{Key: key, Status: pipeline.StepDone, Started: true, Done: true})
	}
	s.recordFoundPlugins(e.Begun)
}

// onSecretsRefused ends a run; a ready deployment requests its secrets again after a
// minute, since its services can run without them.
func (s *secrets) onSecretsRefused(e SecretsRefused) {
	if s.work == nil || e.Run != s.work.Run || e.Generation != s.work.Generation ||
		s.state == secretsHere {
		return
	}
	s.recordRefusal(e.Reason)
	if s.phase == wire.PhaseReady {
		s.state, s.wait = secretsUnknown, s.now.Add(time.Minute)
	}
}

func (s *secrets) recordRefusal(reason string) { s.state, s.refusal = secretsRefused, reason }

// requireSecrets reports whether the secrets are here, and requests them if they are not.
// False means not yet, or never.
func (s *secrets) requireSecrets() bool {
	if s.state == secretsHere {
		return true
	}
	if s.state == secretsUnknown {
		s.state = secretsWanted
		s.out = append(s.out, WantSecrets{Generation: s.work.Generation, Run: s.work.Run})
	}
	return false
}

// resetSecretsRequest forgets a pending or refused request for secrets: it was for the
// previous generation, and the control plane answers for the current one only.
func (s *secrets) resetSecretsRequest() {
	if s.state != secretsHere {
		s.state, s.refusal = secretsUnknown, ""
	}
}

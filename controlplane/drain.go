package controlplane

import (
	"slices"
	"time"
)

// DrainStatus is how far the emptying of a node is.
//
//	none ─▶ draining ⇄ overdue      the deadline passed, and some stay
//	           └─▶ drained ◀─┘      nothing is left
//	any of them ─▶ none             a person ended it
//
// It is independent of NodeStatus: a drained node stays connected, and an offline one can be
// drained. While there is one, nothing new is placed.
type DrainStatus string

// The statuses.
const (
	DrainNone DrainStatus = ""
	Draining  DrainStatus = "draining"
	Overdue   DrainStatus = "overdue"
	Drained   DrainStatus = "drained"
)

// DrainStatuses lists them all, for checks of every pair.
func DrainStatuses() []DrainStatus {
	return []DrainStatus{DrainNone, Draining, Overdue, Drained}
}

// CanMove reports whether a drain may go from one status to another. The
// database holds the same table in a trigger.
func (s DrainStatus) CanMove(to DrainStatus) bool {
	return s == to || slices.Contains(s.nextStatuses(), to)
}

func (s DrainStatus) nextStatuses() []DrainStatus {
	switch s {
	case DrainNone:
		return []DrainStatus{Draining}
	case Draining:
		return []DrainStatus{Overdue, Drained, DrainNone}
	case Overdue:
		// A later deadline restarts the wait.
		return []DrainStatus{Draining, Drained, DrainNone}
	case Drained:
		return []DrainStatus{DrainNone}
	default:
		return nil
	}
}

// Drain is the emptying of one node. Deployments end by themselves or are
// removed by people; none is moved or stopped by it.
type Drain struct {
	Status   DrainStatus
	Since    time.Time
	By       string
	Deadline *time.Time
}

// RemainingDeployment is a deployment that keeps a node from being empty.
type RemainingDeployment struct {
	ID        DeploymentID
	Name      string
	Project   string
	CreatedBy string
	Status    DeploymentStatus
	// EndsAt is when clean-up takes it, if it is not used until then; nil when
	// no rule does.
	EndsAt *time.Time
}

// DrainEnds estimates when a node will be empty: when the last of those that
// stay ends. It is nil while one of them has no end of its own.
func DrainEnds(all []RemainingDeployment) *time.Time {
	var last *time.Time
	for _, s := range all {
		if s.EndsAt == nil {
			return nil
		}
		if last == nil || s.EndsAt.After(*last) {
			last = s.EndsAt
		}
	}
	return last
}

// ForgottenNode is a node that was removed by force, with what was on it.
type ForgottenNode struct {
	ID          int64
	Name        string
	Environment string
	Address     string
	Thumbprint  Thumbprint
	By          string
	At          time.Time
	Left        []ForgottenDeployment
}

// ForgottenDeployment is a deployment that was not removed from a forgotten node's machine.
type ForgottenDeployment struct {
	ID      DeploymentID     `json:"id"`
	Name    string           `json:"name"`
	Project string           `json:"project"`
	Status  DeploymentStatus `json:"status"`
	// What names the objects; "everything of it" if the node was not asked.
	What []string `json:"what"`
}

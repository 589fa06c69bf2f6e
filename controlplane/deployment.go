package controlplane

import (
	"slices"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// DeploymentStatus is where a deployment stands.
//
//	queued ─▶ applying ─▶ ready ─▶ removing ─▶ removed
//	  ▲ │        │                  ▲  │  ▲
//	  │ └────┐   │                  │  ▼  │try again
//	  │retry ▼   ▼                  │ stuck ─▶ forgotten (admin)
//	failed ◀─ undoing ─▶ canceled   │
//	  └─────────────────────────────┘
//
// Canceling and deleting are the same: a canceled run is undone. A failed deployment can be
// removed, a stuck one is what removing or undoing could not finish, and one whose node is gone for
// good can be forgotten.
type DeploymentStatus string

// The statuses.
const (
	Queued    DeploymentStatus = "queued"
	Applying  DeploymentStatus = "applying"
	Ready     DeploymentStatus = "ready"
	Undoing   DeploymentStatus = "undoing"
	Failed    DeploymentStatus = "failed"
	Canceled  DeploymentStatus = "canceled"
	Removing  DeploymentStatus = "removing"
	Removed   DeploymentStatus = "removed"
	Stuck     DeploymentStatus = "stuck"
	Forgotten DeploymentStatus = "forgotten"
)

// DeploymentStatuses lists them all, for checks of every pair.
func DeploymentStatuses() []DeploymentStatus {
	return []DeploymentStatus{
		Queued, Applying, Ready, Undoing, Failed,
		Canceled, Removing, Removed, Stuck, Forgotten,
	}
}

// CanMove reports whether a deployment may go from one status to another.
// Staying is always allowed. The database holds the same table in a trigger.
func (s DeploymentStatus) CanMove(to DeploymentStatus) bool {
	return s == to || slices.Contains(s.nextStatuses(), to)
}

func (s DeploymentStatus) nextStatuses() []DeploymentStatus {
	switch s {
	case Queued:
		return []DeploymentStatus{Applying, Undoing, Failed, Canceled}
	case Applying:
		return []DeploymentStatus{Ready, Undoing, Failed}
	case Undoing:
		return []DeploymentStatus{Failed, Canceled, Stuck, Forgotten}
	case Failed:
		return []DeploymentStatus{Queued, Removing, Removed}
	case Ready:
		return []DeploymentStatus{Removing}
	case Removing:
		return []DeploymentStatus{Removed, Stuck, Forgotten}
	case Stuck:
		return []DeploymentStatus{Removing, Forgotten}
	default:
		return nil
	}
}

// Condition says whether a deployment can be used at the moment. It is derived for display and is
// not a status: which actions are allowed does not depend on it.
type Condition string

// The conditions. Most statuses have none.
const (
	ConditionReady    Condition = "ready"
	ConditionDegraded Condition = "degraded"
	ConditionOffline  Condition = "offline"
)

// Condition is empty while the deployment is neither ready nor offline. The
// function deployment_condition in the database says the same for filters.
func (d Deployment) Condition() (c Condition, reason string) {
	switch d.Status {
	case Applying, Ready, Undoing, Removing, Stuck:
		if d.NodeID != "" && d.NodeStatus != NodeOnline {
			return ConditionOffline, "node " + d.Node + " is " + string(d.NodeStatus)
		}
	}
	switch {
	case d.Status != Ready:
		return "", ""
	case d.Degraded != "":
		return ConditionDegraded, d.Degraded
	}
	return ConditionReady, ""
}

// DeploymentsBefore returns the statuses that may move to the given one, for guarded
// updates.
func DeploymentsBefore(to DeploymentStatus) []DeploymentStatus {
	var from []DeploymentStatus
	for _, s := range DeploymentStatuses() {
		if s.CanMove(to) {
			from = append(from, s)
		}
	}
	return from
}

// IsGone reports whether nothing of the deployment is left, or it was given up: its name
// is free again.
func (s DeploymentStatus) IsGone() bool {
	return s == Canceled || s == Removed || s == Forgotten
}

// Goal is what people want of a deployment. Requests write the goal, reports of nodes write the
// status.
type Goal string

// The goals.
const (
	GoalPresent Goal = "present"
	GoalGone    Goal = "gone"
)

// Deployment is one running copy of a project.
type Deployment struct {
	ID            DeploymentID
	Name          string
	ProjectID     ProjectID
	Project       string
	EnvironmentID EnvironmentID
	Environment   string
	// Restricted and Domain are the environment's.
	Restricted bool
	Domain     string
	Status     DeploymentStatus
	Goal       Goal
	// Canceled is set if the current removal cancels a creation.
	Canceled bool
	// Generation numbers the goals sent to the node.
	Generation int64
	// Revision grows with each change; a lower one is older.
	Revision int64
	Detail   string
	// Degraded says which services of a ready deployment do not work, and why;
	// empty while all do.
	Degraded string
	Failure  *Failure
	NodeID   NodeID
	Node     string
	// NodeStatus is shown beside Status: an offline node is not a status.
	NodeStatus NodeStatus
	NodeSince  time.Time
	// Version and Run are the latest run's pipeline version and number.
	Version int
	RunID   RunID
	Run     int
	// StepsDone and StepsTotal count the latest run's steps.
	StepsDone  int
	StepsTotal int
	// Versions is what was chosen, service by service.
	Versions []ServiceVersion
	// Input are the latest run's values of the fields that its pipeline declares.
	Input map[string]any
	// Resources are reserved on the node while the deployment exists.
	Resources pipeline.Resources
	// VRAMMiB is set when it is placed: what it reserves of its node's GPU memory.
	VRAMMiB *int64
	// GPUs are reserved too, by the ids that the node's engine knows.
	GPUs      []string
	CreatedBy string
	CreatedAt time.Time
	ChangedAt time.Time
	ReadyAt   *time.Time
	// Left names what could not be removed.
	Left []string
	// RequestID is the request that last changed the goal; empty if the control plane changed it.
	RequestID string
}

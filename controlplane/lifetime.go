package controlplane

import "time"

// LifetimeInfo is what people did to how long a deployment lives.
type LifetimeInfo struct {
	// ClonedFrom and ClonedName say what it was made from; empty for most.
	ClonedFrom DeploymentID
	ClonedName string
	// Hold is nil if the deployment is not held.
	Hold *Hold
	// RemovedBy had it removed, at RemovedAt; empty if it was not.
	RemovedBy string
	RemovedAt *time.Time
	// Moving is set while it goes to another node, MovedTo once it is there.
	Moving  bool
	MovedTo DeploymentID
	// Hours without activity end it; zero is never.
	Hours int
	// Scratch is set if it runs an unpublished pipeline.
	Scratch bool
	// IgnoresVisits is set where visits to its URLs are no activity.
	IgnoresVisits bool
}

// Hold protects a deployment from clean-up, and from everyone but its owner.
type Hold struct {
	Owner  string
	Reason string
	Since  time.Time
	// Until is nil for as long as the owner wants.
	Until *time.Time
}

// IsActive reports whether the hold has not ended by itself.
func (h *Hold) IsActive(now time.Time) bool {
	return h != nil && (h.Until == nil || h.Until.After(now))
}

// ActivityKind is what resets a deployment's countdown.
type ActivityKind string

// The kinds.
const (
	ActivityCreated  ActivityKind = "created"
	ActivityRetried  ActivityKind = "retried"
	ActivityExtended ActivityKind = "extended"
	ActivityMoved    ActivityKind = "moved"
	ActivityVisited  ActivityKind = "visited"
)

// Activity is one reset of a deployment's countdown.
type Activity struct {
	At   time.Time
	Kind ActivityKind
	By   string
}

// ExpiryNotice is a notice: so many hours, or fewer, are left.
type ExpiryNotice struct {
	Deployment DeploymentID `json:"-"`
	Hours      int          `json:"hours,omitempty"`
	ExpiresAt  time.Time    `json:"expires_at,omitzero"`
}

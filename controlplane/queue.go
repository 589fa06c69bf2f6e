package controlplane

import (
	"math"
	"time"
)

// DefaultPriority is a run's priority unless a person chose another one. Lower ones come first.
const DefaultPriority = 128

// MaxPriority is the last that there is.
const MaxPriority = 255

// QueueStep is by how much a queue has to move on between two runs of a priority. It doubles every
// 32 priorities: that makes eight bands. Each gets half of what the better one gets while both have
// queued runs, and none gets nothing.
func QueueStep(priority int) float64 { return math.Exp2(float64(priority) / 32) }

// QueueEntry is a run's way through the queue: queued, started, ended.
type QueueEntry struct {
	Run        RunID
	RunNumber  int
	Deployment DeploymentID
	// Scope is the node whose queue it is in, or the environment while the run
	// waits for room on any node.
	Scope    string
	Priority int
	// Wait is set if queueing is preferred to being refused.
	Wait bool
	// Ask is what placement has to find, in its own words.
	Ask []byte
	// Turn orders a queue; lower ones come first.
	Turn float64
	// Position is 1 for the next run; 0 once it has left the queue.
	Position int
	// Reason is what it waits for.
	Reason   string
	QueuedAt time.Time
	// Patience is how long it may take until it is ready, waiting included; zero
	// is for ever. Deadline follows.
	Patience  time.Duration
	Deadline  *time.Time
	StartedAt *time.Time
	// LeftAt is when it started, was canceled, or had waited too long.
	LeftAt *time.Time
	// EndedAt and Status are the run's.
	EndedAt *time.Time
	Status  DeploymentStatus
	// Attempts counts how often it was sent to its node: more than once after the link was
	// lost.
	Attempts int
	// Name, Project, Environment and Node are the deployment's, in lists.
	Name, Project, Environment, Node string
}

// IsQueued reports whether it is still in the queue.
func (e QueueEntry) IsQueued() bool { return e.LeftAt == nil }

// WaitingRun is a queued run, with what it requires of nodes.
type WaitingRun struct {
	QueueEntry
	// NodeID is empty for a run that waits for room on any node.
	NodeID NodeID
	// Placement is what environment and project ask for together, now.
	Placement Placement
}

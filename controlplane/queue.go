package controlplane

import (
	"math"
	"time"
)

// DefaultPriority is a run's priority unless a person chose another one. Lower ones come first.
const DefaultPriority = 128

// MaxPriority is the number of the least urgent priority.
const MaxPriority = 255

// QueueStep is the distance between the turns of two runs of a priority (stride scheduling: the
// lowest turn starts next). It doubles every 32 priorities, so that a band of 32 gets half of the
// starts of the band before it while both have queued runs, and no band starves.
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
	// Wait is set if the run should be queued, and not refused, while no node has room.
	Wait bool
	// Ask is the resource request, encoded by lifecycle.
	Ask []byte
	// Turn orders a queue; lower ones come first.
	Turn float64
	// Position is 1 for the next run; 0 once it has left the queue.
	Position int
	// Reason says in a sentence why the run has not started yet.
	Reason   string
	QueuedAt time.Time
	// Patience is how long the deployment may take to become ready, waiting included; zero means no
	// limit. Deadline is computed from it.
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

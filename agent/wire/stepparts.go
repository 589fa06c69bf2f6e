package wire

import "time"

// PartKind is what a step does for a part of its time.
type PartKind string

// The kinds. Sandbox is a container that is made before its turn, Ready from the start of a service
// until its readiness check passes, Run what a plugin, a script or a job does, Undo all of that.
const (
	PartPull    PartKind = "pull"
	PartSandbox PartKind = "sandbox"
	PartStart   PartKind = "start"
	PartReady   PartKind = "ready"
	PartRun     PartKind = "run"
	PartUndo    PartKind = "undo"
)

// StepPart is a part of a step's time, by the clock of the agent.
type StepPart struct {
	Kind PartKind  `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Failed says that it ended badly: it was tried again, or the step failed.
	Failed bool `json:"failed,omitempty"`
}

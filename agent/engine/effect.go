package engine

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Effect is an action that the caller of Step must perform. The set of types is closed.
type Effect interface{ effect() }

// Report is sent to the control plane; it is durable like a Record. Seq is zero.
type Report struct{ Event wire.Event }

// StartOperation starts an operation.
type StartOperation struct {
	Op   int64
	Kind Kind
	// Step is empty for Prepare and RemoveAll.
	Step pipeline.StepKey
	// Action is a plugin's: create or delete.
	Action string
	// Attempt counts the runs of one step's action, from 1.
	Attempt int
	// Reply is what Answer makes outputs of.
	Reply *wire.Answer
	// Starting: the service that is probed has not been ready in this run.
	Starting bool
	// Last: if the service is not ready now, its step fails, and its log is asked why.
	Last bool
	// Keep: Remove leaves the step's sandbox that waits, because its delete will use it.
	Keep bool
}

// Kind is a kind of operation.
type Kind string

// The kinds of operations. All but Run are safe to repeat: Start starts a job once.
const (
	Prepare Kind = "prepare"
	Pull    Kind = "pull"
	Start   Kind = "start"
	Probe   Kind = "probe"
	// Precreate prepares the sandbox of a plugin's action, of a service or of a job before its turn.
	Precreate Kind = "create_ahead"
	Run       Kind = "run"
	// Stop stops a service or a job and keeps its container.
	Stop Kind = "stop"
	// Remove removes the containers of one step, running or not.
	Remove Kind = "remove"
	// RemoveAll removes all objects with the deployment's label.
	RemoveAll Kind = "remove_all"
	// EvaluatePrompt evaluates an approval's prompt, which becomes the result's message. Answer
	// turns a
	// person's reply into the step's outputs. Neither uses the container engine.
	EvaluatePrompt Kind = "ask"
	EvaluateAnswer Kind = "answer"
)

// CancelOperation asks an operation to end soon.
type CancelOperation struct{ Op int64 }

// WantSecrets asks for a run's bundle, until it arrives or is refused.
type WantSecrets struct {
	Generation int64
	Run        string
}

// DropSecrets ends the need for them.
type DropSecrets struct{}

// Wake asks for a Tick at a time, replacing the last Wake.
type Wake struct{ At time.Time }

// Forget says that nothing of the deployment is left to remember.
type Forget struct{}

// Record is a change of the machine's durable state. Fields that are empty
// leave theirs as it is. It is also the journal's format.
type Record struct {
	// Next is an accepted goal that waits for its turn.
	Next *wire.Goal `json:"next,omitempty"`
	// Work makes a goal the current one; Fresh drops the steps of the previous run.
	Work  *wire.Goal `json:"work,omitempty"`
	Fresh bool       `json:"fresh,omitempty"`
	// Blind: the journal has no history of this run, only the goal.
	Blind *bool `json:"blind,omitempty"`
	// Orphan: the control plane does not know the deployment.
	Orphan *bool      `json:"orphan,omitempty"`
	Phase  wire.Phase `json:"phase,omitempty"`
	// Cause is why the run is being undone.
	Cause *Cause     `json:"cause,omitempty"`
	Step  *StepState `json:"step,omitempty"`
	// Answers are people's, to approval steps; those known before stay.
	Answers map[pipeline.StepKey]wire.Answer `json:"answers,omitempty"`
}

// Cause is the first failure of a run.
type Cause struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// StepState is what is durably known of a step.
type StepState struct {
	Key    pipeline.StepKey    `json:"key"`
	Status pipeline.StepStatus `json:"status"`
	// Started: the step may have had an effect, so it must be undone.
	Started bool `json:"started,omitempty"`
	// Done: its effect is known to be complete.
	Done bool `json:"done,omitempty"`
	// Hushed: the service was running when it was stopped for the copy of its volumes, and is
	// started again if the deployment stays here.
	Hushed bool `json:"hushed,omitempty"`
	// Attempt counts creates, Deletes deletes.
	Attempt int `json:"attempt,omitempty"`
	Deletes int `json:"deletes,omitempty"`
	// Undone: the step's effects are removed. GaveUp: why undoing it is not tried again.
	Undone  bool           `json:"undone,omitempty"`
	GaveUp  string         `json:"gave_up,omitempty"`
	Outputs map[string]any `json:"outputs,omitempty"`
	Sealed  []byte         `json:"sealed,omitempty"`
	// Deadline is until when an approval waits or a job may run, by this agent's own clock. A
	// job has one as soon as it is known to be started.
	Deadline time.Time `json:"deadline,omitzero"`
	// Overdue: the job ran beyond its deadline and is being stopped.
	Overdue bool `json:"overdue,omitempty"`
}

func (Report) effect()          {}
func (StartOperation) effect()  {}
func (CancelOperation) effect() {}
func (WantSecrets) effect()     {}
func (DropSecrets) effect()     {}
func (Wake) effect()            {}
func (Forget) effect()          {}
func (Record) effect()          {}

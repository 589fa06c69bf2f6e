package engine

import (
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Event is what happened. The family is closed.
type Event interface{ event() }

// GoalSet says what should be. Stale and repeated goals change nothing.
type GoalSet struct{ Goal wire.Goal }

// GoalMissing says that the full set of goals does not name this deployment, so it must be
// removed.
type GoalMissing struct{}

// SecretsArrived says that the requested bundle is in the caller's memory.
type SecretsArrived struct {
	Run string
	// Outputs are the steps whose outputs the control plane has stored, Begun those of which it
	// knows that they have started.
	Outputs []pipeline.StepKey
	Begun   []pipeline.StepKey
}

// SecretsRefused says that this node may not have them.
type SecretsRefused struct {
	Run        string
	Generation int64
	Reason     string
}

// OperationEnded is the end of an operation.
type OperationEnded struct {
	Op     int64
	Result Result
}

// ObjectsListed is a complete list of the deployment's objects.
type ObjectsListed struct {
	// Began is when the engine was asked. Later changes are not in the list.
	Began   time.Time
	Network bool
	Relay   bool
	// Running are the service steps with a running container.
	Running []pipeline.StepKey
	// Missing are the service steps that have no container at all: it was removed from outside,
	// which does not count as a failure of the service.
	Missing []pipeline.StepKey
	// Plugins are the steps with a plugin's container, in whatever state.
	Plugins []pipeline.StepKey
	// Objects counts all there is of the deployment.
	Objects int
}

// Tick says that the time of a Wake has come.
type Tick struct{}

// AgentRestarted says that the machine was rebuilt, and that no operation is running.
type AgentRestarted struct{}

func (GoalSet) event()        {}
func (GoalMissing) event()    {}
func (SecretsArrived) event() {}
func (SecretsRefused) event() {}
func (OperationEnded) event() {}
func (ObjectsListed) event()  {}
func (Tick) event()           {}
func (AgentRestarted) event() {}

// Outcome says what is known of an operation.
type Outcome string

// The outcomes.
const (
	// OK: it happened.
	OutcomeOK Outcome = "ok"
	// No: it ran, or was tried, and the answer is no.
	OutcomeNo Outcome = "no"
	// Unknown: the engine could not be asked, or the answer was lost.
	OutcomeUnknown Outcome = "unknown"
)

// Result is how an operation ended.
type Result struct {
	Outcome Outcome
	// Harmless: it is certain that the operation had no effect, so nothing must be undone.
	Harmless bool
	// Code is a stable word, Message one masked sentence for people.
	Code    string
	Message string
	// ExitCode, Outputs (masked), Sealed and Metadata (masked) are a plugin's.
	ExitCode *int
	Outputs  map[string]any
	Sealed   []byte
	Metadata []wire.Metadatum
	// Tests is what the test runner of a job wrote, masked.
	Tests *wire.TestReport
	// Health, Exited and Message are a probe's: Outcome OK means it was asked. Exited
	// is a stop's too: the service did not run.
	Health wire.Health
	Exited bool
	// StartedAt is when the process of a probed service started, by the clock of
	// the container engine. Zero: it does not say.
	StartedAt time.Time
	// Left is what RemoveAll could not remove.
	Left []string
}

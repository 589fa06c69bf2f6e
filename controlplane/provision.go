package controlplane

import (
	"slices"
	"time"
)

// ProvisionState is where one attempt to make a machine a node stands.
//
//	pending ─▶ provisioning ─▶ ready
//	   └──────────────┴──────▶ error     a new attempt tries again
type ProvisionState string

// The states.
const (
	ProvisionPending      ProvisionState = "pending"
	ProvisionProvisioning ProvisionState = "provisioning"
	ProvisionReady        ProvisionState = "ready"
	ProvisionError        ProvisionState = "error"
)

// ProvisionStates lists them all, for checks of every pair.
func ProvisionStates() []ProvisionState {
	return []ProvisionState{ProvisionPending, ProvisionProvisioning, ProvisionReady, ProvisionError}
}

// CanMove reports whether an attempt may go from one state to another. Staying
// is always allowed. The database holds the same table in a trigger.
func (s ProvisionState) CanMove(to ProvisionState) bool {
	next := map[ProvisionState][]ProvisionState{
		ProvisionPending:      {ProvisionProvisioning, ProvisionError},
		ProvisionProvisioning: {ProvisionReady, ProvisionError},
	}
	return s == to || slices.Contains(next[s], to)
}

// IsTerminal reports whether nothing more happens in the attempt.
func (s ProvisionState) IsTerminal() bool { return s == ProvisionReady || s == ProvisionError }

// ProvisionAttempt is one try to make a machine a node.
type ProvisionAttempt struct {
	NodeID NodeID
	Node   string
	Number int
	State  ProvisionState
	// Code, Message and Remedy say why it ended in error.
	Code, Message, Remedy string
	StartedBy             string
	CreatedAt             time.Time
	StartedAt, EndedAt    *time.Time
	Steps                 []ProvisionStep
}

// ProvisionStepStatus is where one step of an attempt stands.
type ProvisionStepStatus string

// The statuses of a step.
const (
	ProvisionStepRunning ProvisionStepStatus = "running"
	ProvisionStepDone    ProvisionStepStatus = "done"
	ProvisionStepFailed  ProvisionStepStatus = "failed"
)

// ProvisionStep is one thing that was done on the machine, with its output.
// No secret is in Output.
type ProvisionStep struct {
	Seq                int
	Key                string
	Status             ProvisionStepStatus
	Output             string
	StartedAt, EndedAt *time.Time
}

// ProvisionPlan says which paths are used on the machine, and what may be done there.
type ProvisionPlan struct {
	// Directory holds the program and its settings.
	Directory string `json:"directory"`
	// Data and Run are the agent's folders.
	Data string `json:"data"`
	Run  string `json:"run"`
	// Docker is the engine's socket, unix:///….
	Docker string `json:"docker"`
	// Subnets is the agent's range of networks; empty is the agent's default.
	Subnets string `json:"subnets,omitempty"`
	// InstallDocker lets the control plane install Docker where it is missing.
	InstallDocker bool `json:"install_docker"`
}

// NodeSSH is how the control plane reaches a machine to make it a node.
type NodeSSH struct {
	Node NodeID
	Host string
	Port int
	User string
	// HostKey is the fingerprint that must answer, SHA256:….
	HostKey string
	// Credential is nil once it was forgotten.
	Credential Sealed
	// Forget takes the credential away after success.
	Forget bool
	Plan   ProvisionPlan
}

package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// ReachKind is what a way into a service is for.
type ReachKind string

// The kinds: a command or terminal, and a connection to a port.
const (
	ReachTerminal ReachKind = "terminal"
	ReachForward  ReachKind = "forward"
)

// ReachTicket is the right to get into a service, once and soon.
type ReachTicket struct {
	// Digest is SHA-256 of what the person holds.
	Digest []byte
	User   UserID
	// Credential is the session or token it was asked for with.
	Credential string
	Deployment DeploymentID
	Step       pipeline.StepKey
	Kind       ReachKind
	// Port is for ReachForward.
	Port      int
	ExpiresAt time.Time
}

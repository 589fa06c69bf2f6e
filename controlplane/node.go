package controlplane

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Thumbprint is the SHA-256 of an agent's certificate: 64 hex digits.
type Thumbprint string

// ParseThumbprint reads the spellings people paste: colons, spaces and
// capitals do not matter.
func ParseThumbprint(field, s string) (Thumbprint, error) {
	t := strings.ToLower(strings.NewReplacer(":", "", " ", "").Replace(s))
	ok := len(t) == 64 && strings.Trim(t, "0123456789abcdef") == ""
	if !ok {
		return "", &Error{
			Kind: Invalid, Code: "thumbprint_invalid", Field: field,
			Message: "a thumbprint is 64 hex digits",
			Remedy:  "Copy the thumbprint that the agent prints when it starts.",
		}
	}
	return Thumbprint(t), nil
}

// NodeStatus is where a node stands.
//
//	enrolled ─▶ online ⇄ offline
//	   any of them ─▶ untrusted     the certificate changed; a person approves
//	   any of them ─▶ incompatible  another release; a person upgrades
//	   any of them ─▶ disabled      a person said so; a person enables
//	   untrusted, disabled ─▶ enrolled   a new token enrols anew
type NodeStatus string

// The statuses.
const (
	NodeEnrolled     NodeStatus = "enrolled"
	NodeOnline       NodeStatus = "online"
	NodeOffline      NodeStatus = "offline"
	NodeUntrusted    NodeStatus = "untrusted"
	NodeIncompatible NodeStatus = "incompatible"
	NodeDisabled     NodeStatus = "disabled"
)

// NodeStatuses lists them all, for checks of every pair.
func NodeStatuses() []NodeStatus {
	return []NodeStatus{
		NodeEnrolled, NodeOnline, NodeOffline,
		NodeUntrusted, NodeIncompatible, NodeDisabled,
	}
}

// CanMove reports whether a node may go from one status to another. Staying
// is always allowed. The database holds the same table in a trigger.
func (s NodeStatus) CanMove(to NodeStatus) bool {
	return s == to || slices.Contains(s.nextStatuses(), to)
}

func (s NodeStatus) nextStatuses() []NodeStatus {
	switch s {
	case NodeEnrolled:
		return []NodeStatus{NodeOnline, NodeOffline, NodeUntrusted, NodeIncompatible, NodeDisabled}
	case NodeOnline:
		return []NodeStatus{
			NodeEnrolled, NodeOffline, NodeUntrusted, NodeIncompatible, NodeDisabled,
		}
	case NodeOffline:
		return []NodeStatus{
			NodeEnrolled, NodeOnline, NodeUntrusted, NodeIncompatible, NodeDisabled,
		}
	case NodeIncompatible:
		return []NodeStatus{
			NodeEnrolled, NodeOnline, NodeOffline, NodeUntrusted, NodeDisabled,
		}
	case NodeUntrusted:
		// Never straight to online: a person must approve, or issue a new token.
		return []NodeStatus{NodeEnrolled, NodeOffline, NodeDisabled}
	case NodeDisabled:
		return []NodeStatus{NodeEnrolled, NodeOffline}
	default:
		return nil
	}
}

// NodesBefore returns the statuses that a node may have to move to the given one, for guarded
// updates.
func NodesBefore(to NodeStatus) []NodeStatus {
	var from []NodeStatus
	for _, s := range NodeStatuses() {
		if s.CanMove(to) {
			from = append(from, s)
		}
	}
	return from
}

// NodeConnect says which end opens the connections between a control plane and an agent.
type NodeConnect string

// The two ends.
const (
	ConnectControlPlane NodeConnect = "control-plane"
	ConnectAgent        NodeConnect = "agent"
)

// StandbyHost is a process that accepts connections of agents, and where the others ask it for
// one.
type StandbyHost struct {
	Process string
	URL     string
	// Fingerprint is the SHA-256 of the certificate that answers there, in hex; empty if an
	// ordinary authority vouches for it.
	Fingerprint string
}

// Node is a machine we know.
type Node struct {
	ID            NodeID
	Name          string
	EnvironmentID EnvironmentID
	Environment   string
	// Connect says who dials whom.
	Connect NodeConnect
	// Address is host:port where the agent listens, or the URL of a WebSocket that leads there;
	// empty if the agent dials.
	Address string
	Status  NodeStatus
	// Detail says why, for people.
	Detail string
	// Since is when Status last changed.
	Since time.Time
	// Thumbprint is the trusted certificate's; empty before first contact.
	Thumbprint Thumbprint
	// Expected was typed in when the node was added; first contact must match.
	Expected Thumbprint
	// Pending is a changed certificate's; it can be approved only if it
	// proved the token.
	Pending           Thumbprint
	PendingProofValid bool
	// Rejected is a certificate that a person turned down.
	Rejected Thumbprint
	// RevocationPending: an old token was not yet refused by the agent itself.
	RevocationPending bool
	// TokenKid names the active token; empty when there is none.
	TokenKid  string
	Build     string
	Inventory *Inventory
	Vitals    *NodeVitals
	// Settings are what counts: those of the template with the node's own.
	Settings NodeSettings
	// Template is the name of the node template that it follows, or empty.
	Template    string
	OwnSettings NodeSettings
	// Allocated is the sum of the limits of the deployments placed here.
	Allocated pipeline.Resources
	// Capacity is the environment's: how room here is counted.
	Capacity    CapacityRules
	Deployments int
	// Drain is set while the node is being emptied, and once it is empty.
	Drain *Drain
}

// IsEnabled reports whether people let the node take part.
func (n Node) IsEnabled() bool { return n.Status != NodeDisabled }

// BlockedReason says why the node may take no new deployment although it is online.
func (n Node) BlockedReason() string { return n.Inventory.BlockedReason() }

// Labels merges the labels that people set with those that the node reported.
func (n Node) Labels() Labels {
	all := Labels{LabelNode: n.Name}
	if n.Inventory != nil && n.Inventory.Arch != "" {
		all[LabelArch] = n.Inventory.Arch
	}
	if n.Inventory != nil && len(n.Inventory.GPUs) > 0 {
		all[LabelGPU] = strings.ReplaceAll(n.Inventory.GPUs[0].Model, " ", "-")
	}
	maps.Copy(all, n.Settings.Labels)
	return all
}

// NodeVitals is a node's measured use: CPU in cores, the rest in bytes. At is by
// our clock, not the node's.
type NodeVitals struct {
	At         time.Time `json:"at"`
	CPU        float64   `json:"cpu"`
	MemoryUsed int64     `json:"memory_used"`
	// MemoryOurs is what of it deployments use.
	MemoryOurs int64 `json:"memory_ours,omitempty"`
	DiskFree   int64 `json:"disk_free"`
	Flow       Flow  `json:"flow,omitzero"`
	// Images is nil before the node has looked after them.
	Images *ImageCare `json:"images,omitempty"`
	// Within is after how many seconds the next ones come at most; 0 is a few seconds. Until then
	// these are right within a few percent: a change is reported at once.
	Within int `json:"within,omitempty"`
}

const (
	// usualWithin is for agents that report every measurement.
	usualWithin = 10 * time.Second
	// lateVitals is how late a report may be: the node or the database may be busy for a moment.
	lateVitals = 2 * time.Minute
)

// IsStale reports whether the node's figures may be anything by now.
func (v *NodeVitals) IsStale(now time.Time) bool {
	if v == nil || v.At.IsZero() {
		return false
	}
	within := max(usualWithin, time.Duration(v.Within)*time.Second)
	return now.Sub(v.At) > within+lateVitals
}

// ImageCare is what images take on a node, and what removing unused ones came
// to since its agent started. Sizes are in bytes.
type ImageCare struct {
	Count   int       `json:"count"`
	Bytes   int64     `json:"bytes"`
	Floor   int64     `json:"floor"`
	Removed int       `json:"removed"`
	Freed   int64     `json:"freed"`
	At      time.Time `json:"at,omitzero"`
}

// NodeToken is a node's credential as the database holds it. K is the key
// both ends derive from the token, sealed.
type NodeToken struct {
	Kid       string
	Node      NodeID
	Verifier  Sealed
	CreatedAt time.Time
	RevokedAt *time.Time
	// RevocationPending: the agent has not yet confirmed that it refuses it.
	RevocationPending bool
}

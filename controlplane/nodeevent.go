package controlplane

import "time"

// NodeEventKind says what happened to a node. Besides these, each NodeStatus
// and each DrainStatus is one: the database writes those itself.
type NodeEventKind string

// The kinds that are no status.
const (
	NodeAdded        NodeEventKind = "added"
	NodeMet          NodeEventKind = "met"
	NodeSynced       NodeEventKind = "synced"
	NodeApproved     NodeEventKind = "approved"
	NodeRejected     NodeEventKind = "rejected"
	NodeTokenRotated NodeEventKind = "token_rotated"
	NodeTokenRevoked NodeEventKind = "token_revoked"
	NodeTokenRefused NodeEventKind = "token_refused"
	NodeDrainEnded   NodeEventKind = "drain_ended"
	// NodeProvisioning reports an attempt's state, NodeProvisionStep what one
	// of its steps resulted in.
	NodeProvisioning  NodeEventKind = "provisioning"
	NodeProvisionStep NodeEventKind = "provision_step"
)

// NodeEvent is one thing that happened to a node.
type NodeEvent struct {
	ID     int64
	Node   string
	At     time.Time
	Kind   NodeEventKind
	Detail string
	// Mark is the position from which a reader continues after this event.
	Mark NodeEventMark
}

// NodeEventMark is a place in the order in which node events were committed.
type NodeEventMark struct{ Xact, ID int64 }

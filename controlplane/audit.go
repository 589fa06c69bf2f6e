package controlplane

import "time"

// AuditResult is how an attempt ended.
type AuditResult string

// The results.
const (
	AuditOK      AuditResult = "ok"
	AuditRefused AuditResult = "refused"
	AuditFailed  AuditResult = "failed"
)

// AuditEntry says who did what to what, from where, and how it ended. Entries
// are only ever added.
type AuditEntry struct {
	ID int64
	At time.Time
	// Actor is a user's name or "system:task"; ActorID is empty for a system.
	Actor   string
	ActorID UserID
	// Action is verb and noun, such as "put service".
	Action string
	// Object names what it was done to, such as "service api".
	Object      string
	Project     ProjectID
	Environment EnvironmentID
	// From is the address the request came from.
	From      string
	RequestID string
	Result    AuditResult
	// Detail is a code or a list of names; never a value.
	Detail string
}

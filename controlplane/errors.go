package controlplane

import (
	"errors"
	"strings"
	"time"
)

// Kind says what sort of answer an Error is. The API maps it to a status.
type Kind string

// The kinds.
const (
	Invalid         Kind = "invalid"
	Unauthenticated Kind = "unauthenticated"
	Forbidden       Kind = "forbidden"
	NotFound        Kind = "not_found"
	Conflict        Kind = "conflict"
	Exhausted       Kind = "exhausted"
	Unavailable     Kind = "unavailable"
	TooMany         Kind = "too_many"
)

// Error is an error that people may see. Every other error is internal: it is logged
// in full and shown as a request id.
type Error struct {
	Kind Kind
	// Code is a stable word for programs.
	Code string
	// Field is what to change, as the API spells it.
	Field string
	// Message is one sentence without a full stop, Remedy what to do about it.
	Message string
	Remedy  string
	// Problems are set when there is more than one thing to change.
	Problems []Problem
	// Users are the objects that use the one that should go.
	Users []string
	// Placement says, node by node, why there is no room.
	Placement []PlacementReason
	// RetryAfter is set when the same request may work later.
	RetryAfter time.Duration
	// Cause is logged and never shown.
	Cause error
}

// Problem is one thing to change, at a place an editor can point at.
type Problem struct {
	Field   string
	Code    string
	Message string
	Step    string
	// Document is the position of the document, from 0; nil without documents.
	Document *int
	// Remedy and Users are as in Error.
	Remedy string
	Users  []string
}

// PlacementReason says why a node cannot take a deployment.
type PlacementReason struct {
	Node   string
	Reason string
	// Class is one word for the reason, for metrics.
	Class string
	// CPUFree is in cores, MemoryFree in bytes; nil when unknown or not for
	// the asker's eyes.
	CPUFree    *float64
	MemoryFree *int64
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Message)
	for _, p := range e.Problems {
		b.WriteString("; " + p.Field + ": " + p.Message)
	}
	if len(e.Users) > 0 {
		b.WriteString(" (used by " + strings.Join(e.Users, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// ErrDatabaseAway is in the chain of every error of a database that does not answer or cannot
// store anything now. It is no refusal: the same may succeed a moment later.
var ErrDatabaseAway = errors.New("the database is not available")

// KindOf returns the kind of the Error in err's chain, "" if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// CodeOf returns the code of the Error in err's chain, "" if there is none.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// NewInvalidError is the error for a value that has to be changed.
func NewInvalidError(field, code, message, remedy string) *Error {
	return &Error{Kind: Invalid, Code: code, Field: field, Message: message, Remedy: remedy}
}

// NewConflictError is the error for what the present state does not allow.
func NewConflictError(code, message, remedy string) *Error {
	return &Error{Kind: Conflict, Code: code, Message: message, Remedy: remedy}
}

// IsFound splits "not found" from failures: creating is what a put does then.
func IsFound(err error) (bool, error) {
	if KindOf(err) == NotFound {
		return false, nil
	}
	return err == nil, err
}

// NewNotFoundError is the error for what does not exist and for what the actor may not see:
// they must look the same.
func NewNotFoundError(what, name string) *Error {
	return &Error{
		Kind: NotFound, Code: "not_found",
		Message: what + " " + ClipText(name) + " does not exist, or you may not see it",
		Remedy:  "Check the spelling, or ask an admin for access.",
	}
}

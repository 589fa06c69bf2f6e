package controlplane

import "time"

// LinkID names a link that works once.
type LinkID string

// LinkKind is what a link is good for.
type LinkKind string

// The kinds of links. They are secrets: the database has only their hashes.
const (
	LinkInvitation LinkKind = "invitation"
	LinkReset      LinkKind = "reset"
)

// Link is a secret link for one use: an invitation creates a person, a reset sets the password of
// an existing one.
type Link struct {
	ID   LinkID
	Kind LinkKind
	// User is whose password it sets; "" for an invitation.
	User UserID
	// Address is the invited person's e-mail address.
	Address string
	Role    Role
	// Teams are names; the invited person joins them.
	Teams     []string
	CreatedBy string
	CreatedAt time.Time
	ExpiresAt time.Time
}

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

// Link lets somebody in once: an invitation makes a new person, a reset sets
// the password of one who is there.
type Link struct {
	ID   LinkID
	Kind LinkKind
	// User is whose password it sets; "" for an invitation.
	User UserID
	// Address is whom the invitation is for, by e-mail.
	Address string
	Role    Role
	// Teams are names; the invited person joins them.
	Teams     []string
	CreatedBy string
	CreatedAt time.Time
	ExpiresAt time.Time
}

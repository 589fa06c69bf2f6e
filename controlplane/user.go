package controlplane

import "time"

// Role is what a person is to the whole installation.
type Role string

// The roles. A user sees and does what teams grant; an admin everything.
const (
	RoleAdmin Role = "admin"
	RoleUser  Role = "user"
)

// UserKind distinguishes people from programs.
type UserKind string

// The kinds. A service user has tokens only: no password, and no session.
const (
	KindPerson  UserKind = "person"
	KindService UserKind = "service"
)

// User is a person, or a program, with an account here.
type User struct {
	ID          UserID
	Name        string
	DisplayName string
	Role        Role
	// Kind is empty for a person.
	Kind UserKind
	// Address is their e-mail address, if known.
	Address string
	// HasPassword is false for service users, and for people who sign in with an OpenID provider
	// only.
	HasPassword bool
	// Active is false for people who may no longer sign in.
	Active bool
	// Teams are names, in order.
	Teams        []string
	CreatedAt    time.Time
	LastSignInAt *time.Time
}

// Session is one signed-in browser. Only the hash of its id is stored.
type Session struct {
	ID        SessionID
	User      UserID
	CreatedAt time.Time
	LastUsed  time.Time
	Expires   time.Time
	// From is the address it began at, Device what the browser called itself.
	From, Device string
	Method       SignInMethod
	// ConfirmedAt is when its owner last proved who they are.
	ConfirmedAt time.Time
}

// TokenScope is how far a token reaches, at most as far as its user.
type TokenScope string

// The scopes.
const (
	ScopeRead TokenScope = "read"
	ScopeFull TokenScope = "full"
)

// APIToken lets a program act as its user. Prefix finds it, and is shown.
type APIToken struct {
	ID         TokenID
	User       UserID
	Name       string
	Prefix     string
	Scope      TokenScope
	CreatedAt  time.Time
	LastUsedAt *time.Time
	// ExpiresAt is nil for a token that lasts until it is revoked.
	ExpiresAt *time.Time
}

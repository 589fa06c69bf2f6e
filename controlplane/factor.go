package controlplane

import "time"

// FactorID names a second factor of a person.
type FactorID string

// FactorKind is what a factor is.
type FactorKind string

// The kinds. A passkey needs no password besides: its authenticator asks for a PIN or a
// fingerprint. TOTP is an authenticator app that shows six digits.
const (
	FactorPasskey FactorKind = "passkey"
	FactorTOTP    FactorKind = "totp"
)

// Factor is something that a person proves who they are with, besides a password.
type Factor struct {
	ID   FactorID
	User UserID
	Kind FactorKind
	Name string
	// Confirmed is false for an authenticator app that has yet to show its first code.
	Confirmed bool
	// Seed is what an authenticator app makes its codes from.
	Seed Sealed
	// CredentialID is a passkey's, in base64url; Passkey is its record, encoded as JSON.
	CredentialID string
	Passkey      []byte
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

// FactorNeed is what is known of a person's second factors when they come in.
type FactorNeed struct {
	// Has is set if there is a confirmed one.
	Has bool
	// TeamWants is set if a team of theirs requires one.
	TeamWants bool
}

// SignInMethod is how a session began.
type SignInMethod string

// The methods. A provider asks for second factors itself.
const (
	MethodPassword SignInMethod = "password"
	MethodPasskey  SignInMethod = "passkey"
	MethodProvider SignInMethod = "provider"
)

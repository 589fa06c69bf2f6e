package controlplane

import "time"

// DeviceLoginID identifies a program's request to be signed in.
type DeviceLoginID string

// DeviceLoginState is what a person said to it.
type DeviceLoginState string

// The states.
const (
	DeviceLoginWaiting  DeviceLoginState = "waiting"
	DeviceLoginApproved DeviceLoginState = "approved"
	DeviceLoginDenied   DeviceLoginState = "denied"
)

// DeviceLogin is a program that asks to be signed in, which a person confirms in a browser.
type DeviceLogin struct {
	ID DeviceLoginID
	// Code is what the person compares, without its hyphen.
	Code string
	// Name is what the program says of itself, Address where it asked from.
	Name, Address string
	Scope         TokenScope
	// Lasts is how long the token lasts; zero is until it is revoked.
	Lasts     time.Duration
	CreatedAt time.Time
	ExpiresAt time.Time
	// Pause is how long the program has to wait between two polls.
	Pause    time.Duration
	PolledAt time.Time
	State    DeviceLoginState
	// User is who said so; empty while nobody did.
	User UserID
}

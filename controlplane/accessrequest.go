package controlplane

import "time"

// AccessRequestID names a request for access.
type AccessRequestID string

// AccessRequest is a person's wish for more access, for an admin to look at.
type AccessRequest struct {
	ID   AccessRequestID
	User UserID
	// UserName is the person's name.
	UserName string
	// Object is project/NAME, environment/NAME, or admin for the role.
	Object string
	// Note is what the person needs it for.
	Note string
	At   time.Time
}

// Package access decides who may do what. It is the only policy: all other packages call Check
// before acting, and filter lists by Readable. Decisions are functions of the actor, the action and
// the object, nothing else.
//
// The rules. An admin, and a named task of the system, may do everything. A
// user's level on a deployment is the highest of all grants that any of their
// teams has on its project or its environment; a restricted environment needs,
// besides, a grant of its own. Reading a project takes a grant on it, or Full
// on any environment that it may be deployed into, since that is enough to deploy
// it there, and to open what its secrets open: an admin may limit a project to
// named environments. What a person
// may not see does not exist for them: the answer is "not found", never
// "forbidden".
package access

import (
	"github.com/nullops/nullops/controlplane"
)

type actorKind int

const (
	nobody actorKind = iota
	person
	system
)

// Actor is who makes a request. The zero value is not signed in.
type Actor struct {
	kind    actorKind
	user    controlplane.User
	task    string
	grants  []controlplane.Grant
	session controlplane.SessionID
	// credential is the session or token, for people: nothing it opens with.
	credential string
	from       string
	request    string
	device     string
	deviceKey  controlplane.Plain
	// readOnly is set for a token with the scope read.
	readOnly bool
	// viewer is the admin who views as this person, if any.
	viewer   string
	viewerID controlplane.UserID
	// lacksFactor and unconfirmed are of a session, see LackingFactor and Unconfirmed.
	lacksFactor, unconfirmed bool
}

// Nobody returns an actor who is not signed in.
func Nobody() Actor { return Actor{} }

// User is a signed-in person with the grants of all their teams.
func User(u controlplane.User, grants []controlplane.Grant) Actor {
	return Actor{kind: person, user: u, grants: grants}
}

// System is a task of the control plane itself, such as "fleet".
func System(task string) Actor { return Actor{kind: system, task: task} }

// InSession says which session the person came with, so that changing the
// password can keep it.
func (a Actor) InSession(id controlplane.SessionID) Actor {
	a.session = id
	if id != "" {
		a.credential = "session " + string(id)
	}
	return a
}

// WithToken says which API token the actor came with, by its public prefix.
func (a Actor) WithToken(prefix string) Actor {
	a.credential = "token " + prefix
	return a
}

// AtCommit says which commit of a repository the actor acts for.
func (a Actor) AtCommit(commit string) Actor {
	a.credential = "commit " + commit
	return a
}

// Credential names the session or the API token that the actor came with; ""
// for a system.
func (a Actor) Credential() string { return a.credential }

// Session is the session the person came with; "" for a token or a system.
func (a Actor) Session() controlplane.SessionID { return a.session }

// WithOrigin says where the request came from and how it is called, for the audit.
func (a Actor) WithOrigin(address, request string) Actor {
	a.from, a.request = address, request
	return a
}

// RemoteAddress is the address the request came from; "" for a system.
func (a Actor) RemoteAddress() string { return a.from }

// Request is how the request is called in logs and answers; "" for a system.
func (a Actor) Request() string { return a.request }

// WithDevice says what the browser or program calls itself.
func (a Actor) WithDevice(device string) Actor {
	a.device = device
	return a
}

// Device is what the browser or program calls itself.
func (a Actor) Device() string { return a.device }

// WithDeviceKey says which key of a known browser came with the request.
func (a Actor) WithDeviceKey(key controlplane.Plain) Actor {
	a.deviceKey = key
	return a
}

// DeviceKey is the key by which a browser is known again; empty for a program and
// for a new browser.
func (a Actor) DeviceKey() controlplane.Plain { return a.deviceKey }

// AsReadOnly is the same person without the right to change anything.
func (a Actor) AsReadOnly() Actor {
	a.readOnly = true
	return a
}

// IsReadOnly reports whether the actor came to look only, whatever grants they
// have.
func (a Actor) IsReadOnly() bool { return a.readOnly }

// ViewedBy is the same person, viewed by an admin, read-only.
func (a Actor) ViewedBy(admin Actor) Actor {
	a.viewer, a.viewerID, a.readOnly = admin.Name(), admin.user.ID, true
	a.credential = admin.credential
	return a
}

// LackingFactor is the same person, who must have a second factor and has none: all that they may
// do is add it.
func (a Actor) LackingFactor() Actor {
	a.lacksFactor, a.grants = true, nil
	return a
}

// LacksFactor reports whether the person must add a second factor first.
func (a Actor) LacksFactor() bool { return a.lacksFactor }

// Unconfirmed is the same person, who proved long ago who they are.
func (a Actor) Unconfirmed() Actor {
	a.unconfirmed = true
	return a
}

// NeedsStepUp reports whether the person must prove again who they are before a deed that cannot
// be undone.
func (a Actor) NeedsStepUp() bool { return a.unconfirmed }

// FactorError is the error for a person who must add a second factor first.
func FactorError() error {
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "second_factor_needed",
		Message: "you must have a second factor, and have none",
		Remedy:  "Sign in with a browser, and add a passkey or an authenticator app.",
	}
}

// Viewer is the admin who views as the person, "" for none.
func (a Actor) Viewer() string { return a.viewer }

// SignedIn reports whether there is a person or a task of the system.
func (a Actor) SignedIn() bool { return a.kind != nobody }

// IsAdmin reports whether the actor may do everything.
func (a Actor) IsAdmin() bool {
	return a.kind == system ||
		a.kind == person && a.user.Role == controlplane.RoleAdmin && !a.lacksFactor
}

// IsSystem reports whether the actor is a task of the control plane itself.
func (a Actor) IsSystem() bool { return a.kind == system }

// Person is the signed-in user; the zero value for anybody else.
func (a Actor) Person() controlplane.User { return a.user }

// UserID is the signed-in user's id, "" for anybody else.
func (a Actor) UserID() controlplane.UserID { return a.user.ID }

// Name is the actor's name in the audit: "ada", "system:fleet" or "nobody".
func (a Actor) Name() string {
	switch a.kind {
	case person:
		return a.user.Name
	case system:
		return "system:" + a.task
	default:
		return "nobody"
	}
}

// NewAuditEntry begins the audit entry of what the actor does.
func (a Actor) NewAuditEntry(action, object string) *controlplane.AuditEntry {
	e := &controlplane.AuditEntry{
		Actor: a.Name(), ActorID: a.user.ID, Action: action, Object: object,
		From: a.from, RequestID: a.request, Credential: a.credential,
	}
	if a.viewer != "" {
		// The admin who views as the person is recorded as the one who acted.
		e.Actor, e.ActorID = a.viewer, a.viewerID
	}
	return e
}

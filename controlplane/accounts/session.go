package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
	"time"
	"unicode"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// touchEvery is how exactly we know when a session or token was last used.
const touchEvery = time.Minute

// Credential is what a request carries: a session's cookie or a bearer token.
type Credential struct {
	Session controlplane.Plain
	Bearer  controlplane.Plain
}

// SignedIn is a new session: the cookie's value, and the person.
type SignedIn struct {
	Cookie  controlplane.Plain
	Expires time.Time
	Actor   access.Actor
}

// SignIn proves a password, and a second factor if there is one, and makes a session with a new
// id. The actor says from where (Actor.Via).
func (a *Accounts) SignIn(
	ctx context.Context, actor access.Actor, l Login,
) (SignedIn, error) {
	u, needs, err := a.checkLogin(ctx, actor, l)
	if err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	e := access.User(u.User, nil).WithOrigin(actor.RemoteAddress(), actor.Request()).
		NewAuditEntry("sign in", "user "+u.Name)
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) (err error) {
		out, err = a.beginSession(ctx, tx, actor, u.User, controlplane.MethodPassword)
		return err
	})
	if needs {
		out.Actor = out.Actor.LackingFactor()
	}
	return out, err
}

// beginSession creates a session with a new id, so that an id planted in the browser
// (session fixation) is useless.
func (a *Accounts) beginSession(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, u controlplane.User,
	method controlplane.SignInMethod,
) (SignedIn, error) {
	now, value := a.now(), randomBits()
	s := controlplane.Session{
		ID: controlplane.NewID[controlplane.SessionID](), User: u.ID, CreatedAt: now,
		From: actor.RemoteAddress(), Device: cleanDeviceName(actor.Device()),
		Method: method, ConfirmedAt: now,
	}
	out := SignedIn{Cookie: controlplane.NewPlain(value), Expires: now.Add(SessionLife)}
	if err := tx.Sessions().Insert(ctx, s, sha256.Sum256([]byte(value)), out.Expires); err != nil {
		return SignedIn{}, err
	}
	grants, err := tx.Teams().ListGrants(ctx, u.ID)
	if err != nil {
		return SignedIn{}, err
	}
	if err := a.touchDevice(ctx, tx, actor, u.ID); err != nil {
		return SignedIn{}, err
	}
	out.Actor = access.User(u, grants).
		InSession(s.ID).
		WithOrigin(actor.RemoteAddress(), actor.Request())
	return out, tx.Users().RecordSignIn(ctx, u.ID, now)
}

// checkPassword checks name and password. Whatever is wrong, the answer is the same,
// and so is the work.
func (a *Accounts) checkPassword(
	ctx context.Context, actor access.Actor, name string, password controlplane.Plain,
) (postgres.UserWithHash, error) {
	var u postgres.UserWithHash
	refund, err := a.allowPassword(ctx, actor, name)
	if err != nil {
		return u, err
	}
	if len(password.Reveal()) > maxPassword || controlplane.ValidName("user", name) != nil {
		// Both are known to the asker already, so nothing is given away.
		return u, a.refuseSignIn(ctx, actor, name)
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		u, err = tx.Users().ByName(ctx, name)
		return err
	})
	if err != nil && controlplane.KindOf(err) != controlplane.NotFound {
		return u, err
	}
	ok, weak, err := a.hasher.verifyPassword(ctx, password, u.PasswordHash)
	if err != nil {
		return u, err
	}
	if !ok || !u.Active {
		return u, a.refuseSignIn(ctx, actor, name)
	}
	refund()
	if weak {
		return u, a.rehashPassword(ctx, u.ID, password)
	}
	return u, nil
}

func (a *Accounts) rehashPassword(
	ctx context.Context, id controlplane.UserID, password controlplane.Plain,
) error {
	hash, err := a.hasher.hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return a.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Users().SetPassword(ctx, id, hash)
	})
}

func (a *Accounts) refuseSignIn(ctx context.Context, actor access.Actor, name string) error {
	refusal := &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "sign_in_refused",
		Message: "the user name or the password is wrong",
		Remedy:  "Check both, or ask an admin to set a new password.",
	}
	object := "user"
	if controlplane.ValidName("user", name) == nil {
		object = "user " + name
	}
	if err := a.store.RecordRefusal(ctx, *actor.NewAuditEntry("sign in", object),
		refusal); err != nil {
		return err
	}
	return refusal
}

// Authenticate returns the actor of a request's credential. Without a credential it is Nobody(); an
// invalid one is an error.
func (a *Accounts) Authenticate(
	ctx context.Context, actor access.Actor, c Credential,
) (access.Actor, error) {
	if c.Bearer.IsEmpty() && c.Session.IsEmpty() {
		return actor, nil
	}
	var out access.Actor
	var touch func(*postgres.Tx) error
	err := a.store.Read(ctx, func(tx *postgres.Tx) error {
		who, err := a.findIdentity(ctx, tx, c)
		if err != nil {
			return err
		}
		touch = who.stale
		u, err := tx.Users().ByID(ctx, who.user)
		if err != nil {
			return err
		}
		if !u.Active {
			return unauthenticatedError()
		}
		grants, err := tx.Teams().ListGrants(ctx, who.user)
		out = access.User(u.User, grants).InSession(who.session).
			WithOrigin(actor.RemoteAddress(), actor.Request()).WithDevice(actor.Device()).
			WithDeviceKey(actor.DeviceKey())
		if who.token != "" {
			out = out.WithToken(who.token)
		}
		if who.readOnly {
			out = out.AsReadOnly()
		}
		if err != nil || who.session == "" {
			return err
		}
		out, err = a.judgeSession(ctx, tx, out, who)
		return err
	})
	if err != nil {
		return access.Nobody(), err
	}
	if touch != nil {
		return out, a.store.InTx(ctx, touch)
	}
	return out, nil
}

// identity is whose credential it is. stale, if not nil, notes the use.
type identity struct {
	user    controlplane.UserID
	session controlplane.SessionID
	// token is the public prefix of an API token.
	token    string
	readOnly bool
	// method and confirmed are of a session: how it began, and when its owner last proved who
	// they are.
	method    controlplane.SignInMethod
	confirmed time.Time
	stale     func(*postgres.Tx) error
}

// judgeSession says what a session may not do: anything, while its owner lacks a second factor that
// they must have; deeds that cannot be undone, long after they proved who they are. A provider asks
// for second factors itself, and who has neither password nor factor here has nothing to show.
func (a *Accounts) judgeSession(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, who identity,
) (access.Actor, error) {
	need, err := tx.Factors().Need(ctx, who.user)
	if err != nil {
		return actor, err
	}
	if who.method == controlplane.MethodPassword && !need.Has &&
		a.requiresFactor(actor.Person(), need) {
		actor = actor.LackingFactor()
	}
	asked := need.Has || actor.Person().HasPassword
	if asked && a.now().Sub(who.confirmed) > StepUpLife {
		actor = actor.Unconfirmed()
	}
	return actor, nil
}

func (a *Accounts) findIdentity(
	ctx context.Context, tx *postgres.Tx, c Credential,
) (identity, error) {
	if !c.Bearer.IsEmpty() {
		return a.findBearer(ctx, tx, c.Bearer)
	}
	now := a.now()
	hash := sha256.Sum256([]byte(c.Session.Reveal()))
	found, ok, err := tx.Sessions().ByHash(ctx, hash, now.Add(-SessionIdle), now)
	if err == nil && !ok {
		err = unauthenticatedError()
	}
	who := identity{user: found.User, session: found.ID, method: found.Method,
		confirmed: found.ConfirmedAt}
	if err == nil && now.Sub(found.LastUsed) > touchEvery {
		who.stale = func(tx *postgres.Tx) error { return tx.Sessions().Touch(ctx, found.ID, now) }
	}
	return who, err
}

func (a *Accounts) findBearer(
	ctx context.Context, tx *postgres.Tx, value controlplane.Plain,
) (identity, error) {
	now := a.now()
	t, err := findToken(ctx, tx, value.Reveal())
	if err == nil && t.ExpiresAt != nil && !now.Before(*t.ExpiresAt) {
		err = &controlplane.Error{
			Kind: controlplane.Unauthenticated, Code: "token_expired",
			Message: "the API token expired", Remedy: "Make a new one: nullops login.",
		}
	}
	who := identity{user: t.User, token: t.Prefix, readOnly: t.Scope == controlplane.ScopeRead}
	if err == nil && (t.LastUsedAt == nil || now.Sub(*t.LastUsedAt) > touchEvery) {
		who.stale = func(tx *postgres.Tx) error { return tx.APITokens().Touch(ctx, t.ID, now) }
	}
	return who, err
}

// cleanDeviceName shortens what a browser calls itself, which can be anything.
func cleanDeviceName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	runes := []rune(clean)
	return string(runes[:min(len(runes), 200)])
}

// ListSessions returns the actor's own sessions, the last used first.
func (a *Accounts) ListSessions(
	ctx context.Context, actor access.Actor,
) (all []controlplane.Session, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	now := a.now()
	err = a.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Sessions().List(ctx, actor.UserID(), now.Add(-SessionIdle), now)
		return err
	})
	return all, err
}

// EndSession ends one of the actor's own sessions; its pages notice within
// seconds.
func (a *Accounts) EndSession(
	ctx context.Context, actor access.Actor, id controlplane.SessionID,
) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	if !controlplane.ValidID(string(id)) {
		return controlplane.NewNotFoundError("session", string(id))
	}
	e := actor.NewAuditEntry("end session", "session "+string(id))
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.Sessions().DeleteOwn(ctx, actor.UserID(), id)
	})
}

func unauthenticatedError() error {
	return &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "unauthenticated",
		Message: "the session or token is not valid, or no longer",
		Remedy:  "Sign in again.",
	}
}

// SignOut ends the session the actor came with.
func (a *Accounts) SignOut(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	e := actor.NewAuditEntry("sign out", "user "+actor.Name())
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if actor.Session() == "" {
			return nil
		}
		tx.NotifyOnCommit(controlplane.TopicAccess, "")
		return tx.Sessions().Delete(ctx, actor.Session())
	})
}

// ChangePassword sets the actor's own password. All API tokens and sessions
// end; the session it was done in continues under a new id, which is returned.
func (a *Accounts) ChangePassword(
	ctx context.Context, actor access.Actor, current, password controlplane.Plain,
) (out SignedIn, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return out, err
	}
	if err := validPassword("password", password); err != nil {
		return out, err
	}
	if _, err := a.checkPassword(ctx, actor, actor.Name(), current); err != nil {
		if controlplane.CodeOf(err) == "sign_in_refused" {
			return out, wrongCurrent()
		}
		return out, err
	}
	who := actor.Person()
	err = a.checkStrength("password", password, who.Name, who.DisplayName, who.Address)
	if err != nil {
		return out, err
	}
	hash, err := a.hasher.hashPassword(ctx, password)
	if err != nil {
		return out, err
	}
	e := actor.NewAuditEntry("change password", "user "+actor.Name())
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) (err error) {
		if err := a.replacePassword(ctx, tx, *e, actor.Person(), hash); err != nil {
			return err
		}
		if actor.Session() == "" {
			return nil
		}
		out, err = a.beginSession(ctx, tx, actor, actor.Person(), controlplane.MethodPassword)
		if err != nil || !actor.NeedsStepUp() {
			return err
		}
		return a.keepUnconfirmed(ctx, tx, out.Actor)
	})
	return out, err
}

// keepUnconfirmed makes a session that began with the password alone no proof of who uses it, if
// its owner has a second factor: changing the password would stand in for a step-up otherwise.
func (a *Accounts) keepUnconfirmed(
	ctx context.Context, tx *postgres.Tx, actor access.Actor,
) error {
	need, err := tx.Factors().Need(ctx, actor.UserID())
	if err != nil || !need.Has {
		return err
	}
	return tx.Sessions().Confirm(ctx, actor.Session(), a.now().Add(-StepUpLife-time.Second))
}

// replacePassword stores the hash and ends everything that the old password
// could have opened: links, API tokens and sessions. e is the entry of the
// change, which says who made it.
func (a *Accounts) replacePassword(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, u controlplane.User,
	hash string,
) error {
	if err := tx.Users().SetPassword(ctx, u.ID, hash); err != nil {
		return err
	}
	if err := tx.Links().DeleteOf(ctx, u.ID); err != nil {
		return err
	}
	if err := tx.Devices().DeleteOf(ctx, u.ID); err != nil {
		return err
	}
	if err := revokeTokens(ctx, tx, e, u, "password changed"); err != nil {
		return err
	}
	err := a.queueSecurityMail(ctx, tx, e, u, u.Address, "Your password was changed")
	if err != nil {
		return err
	}
	tx.NotifyOnCommit(controlplane.TopicAccess, "")
	return tx.Sessions().DeleteOf(ctx, u.ID, "")
}

func wrongCurrent() error {
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: "password_wrong", Field: "current",
		Message: "the current password is wrong",
		Remedy:  "Type the password you signed in with.",
	}
}

// sameHash compares in constant time.
func sameHash(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// randomBits returns 256 random bits in 43 characters that fit into a cookie.
func randomBits() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: the process dies instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// randomText returns letters and digits without those that look alike.
func randomText(n int) string {
	const letters = "abcdefghjkmnpqrstuvwxyz23456789"
	var out strings.Builder
	b := make([]byte, 1)
	for out.Len() < n {
		_, _ = rand.Read(b) // never fails: the process dies instead
		// Taking only whole multiples keeps every letter equally likely.
		if int(b[0]) < 256/len(letters)*len(letters) {
			out.WriteByte(letters[int(b[0])%len(letters)])
		}
	}
	return out.String()
}

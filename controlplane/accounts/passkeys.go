package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ceremonyLife is how long a person has to use their authenticator.
const ceremonyLife = 5 * time.Minute

// site is where people sign in: passkeys are bound to its host name.
type site struct {
	url  *url.URL
	auth *webauthn.WebAuthn
}

// newSite prepares passkeys, if the host has a name: browsers bind them to one, and know none at an
// IP address, nor without TLS but on localhost.
func newSite(u *url.URL) (site, error) {
	if u == nil || net.ParseIP(u.Hostname()) != nil || u.Hostname() == "" ||
		u.Scheme != "https" && !isLocalName(u.Hostname()) {
		return site{url: u}, nil
	}
	auth, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "NullOps", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey:        protocol.ResidentKeyRequirementRequired,
			RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification:   protocol.VerificationRequired,
		},
	})
	if err != nil {
		return site{}, fmt.Errorf("setting http.url: passkeys: %w", err)
	}
	return site{url: u, auth: auth}, nil
}

func isLocalName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// name is what authenticator apps show.
func (s site) name() string {
	if s.url == nil {
		return "NullOps"
	}
	return "NullOps " + s.url.Hostname()
}

func (s site) check() error {
	if s.auth != nil {
		return nil
	}
	return controlplane.NewConflictError("passkeys_unavailable",
		"passkeys need a host name and https, and NullOps is not reached by both",
		"Set http.url to https:// and a name, or use an authenticator app.")
}

// HasPasskeys reports whether passkeys work at this address.
func (a *Accounts) HasPasskeys() bool { return a.site.auth != nil }

// PasskeyQuestion is what a browser passes to its authenticator, and the ticket to answer with.
type PasskeyQuestion struct {
	Ticket string
	// Options is the JSON that navigator.credentials takes.
	Options json.RawMessage
}

// PasskeyAnswer is what an authenticator answered.
type PasskeyAnswer struct {
	Ticket     string
	Credential json.RawMessage
}

// passkeyUser is a person as the library sees them.
type passkeyUser struct {
	user controlplane.User
	keys []webauthn.Credential
}

func (p passkeyUser) WebAuthnID() []byte                         { return []byte(p.user.ID) }
func (p passkeyUser) WebAuthnName() string                       { return p.user.Name }
func (p passkeyUser) WebAuthnDisplayName() string                { return p.user.Name }
func (p passkeyUser) WebAuthnCredentials() []webauthn.Credential { return p.keys }

// BeginPasskey asks the person's browser for a new passkey.
func (a *Accounts) BeginPasskey(
	ctx context.Context, actor access.Actor,
) (q PasskeyQuestion, err error) {
	if err := checkNewFactor(actor, "passkey"); err != nil {
		return q, err
	}
	if err := a.site.check(); err != nil {
		return q, err
	}
	u := passkeyUser{user: actor.Person()}
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		if err := checkRoom(ctx, tx, u.user.ID); err != nil {
			return err
		}
		all, err := tx.Factors().List(ctx, u.user.ID)
		if err != nil {
			return err
		}
		u.keys, err = passkeysOf(all)
		return err
	})
	if err != nil {
		return q, err
	}
	creation, ceremony, err := a.site.auth.BeginRegistration(u,
		webauthn.WithExclusions(webauthn.Credentials(u.keys).CredentialDescriptors()))
	if err != nil {
		return q, fmt.Errorf("begin a passkey: %w", err)
	}
	return a.ask(ctx, "add", u.user.ID, creation.Response, ceremony)
}

func passkeysOf(all []controlplane.Factor) ([]webauthn.Credential, error) {
	var out []webauthn.Credential
	for _, f := range all {
		if f.Kind != controlplane.FactorPasskey {
			continue
		}
		var one webauthn.Credential
		if err := json.Unmarshal(f.Passkey, &one); err != nil {
			return nil, fmt.Errorf("read passkey %s: %w", f.ID, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// ask stores what was asked, so that the answer counts once.
func (a *Accounts) ask(ctx context.Context, purpose string, user controlplane.UserID,
	options any, ceremony *webauthn.SessionData) (q PasskeyQuestion, err error) {
	q.Ticket = randomBits()
	if q.Options, err = json.Marshal(options); err != nil {
		return q, fmt.Errorf("encode a passkey's options: %w", err)
	}
	stored, err := json.Marshal(ceremony)
	if err != nil {
		return q, fmt.Errorf("encode a passkey's challenge: %w", err)
	}
	err = a.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Factors().InsertChallenge(ctx, sha256.Sum256([]byte(q.Ticket)), purpose, user,
			stored, a.now().Add(ceremonyLife))
	})
	return q, err
}

// takeCeremony uses up what was asked, whether or not the answer is right.
func (a *Accounts) takeCeremony(ctx context.Context, ticket, purpose string,
	user controlplane.UserID) (out webauthn.SessionData, err error) {
	var stored []byte
	ok := false
	err = a.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		stored, ok, err = tx.Factors().TakeChallenge(ctx, sha256.Sum256([]byte(ticket)), purpose,
			user, a.now())
		return err
	})
	if err == nil && !ok {
		err = controlplane.NewInvalidError("ticket", "ticket_invalid",
			"this question was answered already, or is too old", "Begin again.")
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(stored, &out); err != nil {
		return out, fmt.Errorf("read a passkey's challenge: %w", err)
	}
	return out, nil
}

// AddPasskey stores the passkey that the person's authenticator made. The codes are recovery
// codes, if it is the first factor.
func (a *Accounts) AddPasskey(
	ctx context.Context, actor access.Actor, name string, answer PasskeyAnswer,
) (f controlplane.Factor, codes []controlplane.Plain, err error) {
	e := actor.NewAuditEntry("add second factor", "passkey")
	f, err = a.readNewPasskey(ctx, actor, name, answer)
	if err != nil {
		return f, nil, a.auditRefusal(ctx, e, err)
	}
	e.Object = "second factor " + string(f.ID)
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		codes, err = a.addFactor(ctx, tx, actor, *e, func() error {
			return tx.Factors().Insert(ctx, f)
		})
		return err
	})
	return f, codes, err
}

func (a *Accounts) readNewPasskey(ctx context.Context, actor access.Actor, name string,
	answer PasskeyAnswer) (f controlplane.Factor, err error) {
	if err := checkNewFactor(actor, name); err != nil {
		return f, err
	}
	if err := a.site.check(); err != nil {
		return f, err
	}
	ceremony, err := a.takeCeremony(ctx, answer.Ticket, "add", actor.UserID())
	if err != nil {
		return f, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer.Credential)
	if err != nil {
		return f, a.unreadablePasskey(err)
	}
	if err := a.checkOrigin(parsed.Response.CollectedClientData.Origin); err != nil {
		return f, err
	}
	made, err := a.site.auth.CreateCredential(passkeyUser{user: actor.Person()}, ceremony, parsed)
	if err != nil {
		return f, a.refusedPasskey(err)
	}
	f = controlplane.Factor{
		ID: controlplane.NewID[controlplane.FactorID](), User: actor.UserID(), Name: name,
		Kind: controlplane.FactorPasskey, Confirmed: true, CreatedAt: a.now(),
		CredentialID: base64.RawURLEncoding.EncodeToString(made.ID),
	}
	f.Passkey, err = json.Marshal(made)
	return f, err
}

// checkOrigin says so plainly when a passkey was used at another site. The library would refuse it
// too.
func (a *Accounts) checkOrigin(origin string) error {
	want := a.site.url.Scheme + "://" + a.site.url.Host
	if strings.EqualFold(origin, want) {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "passkey_of_another_site", Field: "credential",
		Message: "this passkey was used at another site",
		Remedy:  "Use the passkey that you added here, at " + want + ".",
	}
}

func (a *Accounts) unreadablePasskey(cause error) error {
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: "passkey_unreadable", Field: "credential",
		Message: "this is no answer of an authenticator",
		Remedy:  "Send what navigator.credentials returned, as JSON.", Cause: cause,
	}
}

func (a *Accounts) refusedPasskey(cause error) error {
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "passkey_refused", Field: "credential",
		Message: "this passkey is not known here, or did not check who you are",
		Remedy:  "Use a passkey that you added here, or your password with a code.",
		Cause:   withDetails(cause),
	}
}

// withDetails makes the library's details readable in our log.
func withDetails(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.DevInfo != "" {
		return fmt.Errorf("%w (%s)", err, e.DevInfo)
	}
	return err
}

// BeginPasskeyUse asks a browser for any passkey of this site: to sign in, or again of a person
// who is signed in.
func (a *Accounts) BeginPasskeyUse(
	ctx context.Context, actor access.Actor,
) (q PasskeyQuestion, err error) {
	purpose := "sign in"
	if actor.UserID() != "" {
		purpose = "step up"
		if err := checkOwnSession(actor); err != nil {
			return q, err
		}
	} else if err := a.limits.takeCeremony(networkOf(actor.RemoteAddress()), a.now()); err != nil {
		return q, err
	}
	if err := a.site.check(); err != nil {
		return q, err
	}
	assertion, ceremony, err := a.site.auth.BeginDiscoverableLogin(
		webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return q, fmt.Errorf("ask for a passkey: %w", err)
	}
	return a.ask(ctx, purpose, actor.UserID(), assertion.Response, ceremony)
}

// SignInWithPasskey makes a session for the owner of a passkey. No password is needed: the
// authenticator asked for a PIN or a fingerprint.
func (a *Accounts) SignInWithPasskey(
	ctx context.Context, actor access.Actor, answer PasskeyAnswer,
) (out SignedIn, err error) {
	u, err := a.checkPasskey(ctx, actor, answer, "sign in", "")
	if err != nil {
		return out, err
	}
	e := access.User(u, nil).WithOrigin(actor.RemoteAddress(), actor.Request()).
		NewAuditEntry("sign in", "user "+u.Name)
	err = a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) (err error) {
		out, err = a.beginSession(ctx, tx, actor, u, controlplane.MethodPasskey)
		return err
	})
	return out, err
}

// checkPasskey checks the answer of an authenticator, of anybody's or of one person's.
func (a *Accounts) checkPasskey(ctx context.Context, actor access.Actor, answer PasskeyAnswer,
	purpose string, of controlplane.UserID) (controlplane.User, error) {
	var found controlplane.User
	refund, err := a.allowAnybody(ctx, actor)
	if err != nil {
		return found, err
	}
	found, used, err := a.verifyPasskey(ctx, answer, purpose, of)
	if err != nil {
		if controlplane.KindOf(err) == "" {
			return found, err
		}
		e := actor.NewAuditEntry(purpose, "passkey")
		if errors.Is(err, errPasskeyCopied) {
			e.Object = "user " + found.Name
			if failed := a.warnOfCopy(ctx, *e, found, used); failed != nil {
				return found, failed
			}
		}
		return found, a.auditRefusal(ctx, e, err)
	}
	refund()
	return found, a.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Factors().UsePasskey(ctx, used.ID, used.Passkey, a.now())
	})
}

// errPasskeyCopied is why an authenticator is refused whose signature is right.
var errPasskeyCopied = errors.New("its counter went back: there may be a copy of it")

// warnOfCopy tells the owner of a passkey that somebody used a copy of it, or that they did so
// themselves after the copy. Only somebody who has the key can cause it.
func (a *Accounts) warnOfCopy(ctx context.Context, e controlplane.AuditEntry, u controlplane.User,
	f controlplane.Factor) error {
	what := fmt.Sprintf("Your passkey %q was refused: there may be a copy of it", f.Name)
	e.Actor = "somebody with this passkey"
	return a.store.InTx(ctx, func(tx *postgres.Tx) error {
		return errors.Join(a.queueSecurityMail(ctx, tx, e, u, u.Address, what),
			tx.Inbox().Add(ctx, controlplane.PersonNotice{User: u.ID, Kind: controlplane.NoticeAlert,
				Subject: what, Link: "/account", Body: "It counts its uses, and the count went back. " +
					"Remove it and add another one; if you did not try to sign in just now, end your " +
					"sessions too and tell an admin."}))
	})
}

func (a *Accounts) verifyPasskey(ctx context.Context, answer PasskeyAnswer, purpose string,
	of controlplane.UserID) (u controlplane.User, used controlplane.Factor, err error) {
	if err := a.site.check(); err != nil {
		return u, used, err
	}
	ceremony, err := a.takeCeremony(ctx, answer.Ticket, purpose, of)
	if err != nil {
		return u, used, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer.Credential)
	if err != nil {
		return u, used, a.unreadablePasskey(err)
	}
	if err := a.checkOrigin(parsed.Response.CollectedClientData.Origin); err != nil {
		return u, used, err
	}
	u, used, err = a.findPasskey(ctx, parsed.RawID, parsed.Response.UserHandle)
	if err != nil {
		return u, used, err
	}
	if of != "" && u.ID != of {
		return u, used, a.refusedPasskey(errors.New("it is the passkey of somebody else"))
	}
	keys, err := passkeysOf([]controlplane.Factor{used})
	if err != nil {
		return u, used, err
	}
	_, seen, err := a.site.auth.ValidatePasskeyLogin(
		func(_, _ []byte) (webauthn.User, error) { return passkeyUser{user: u, keys: keys}, nil },
		ceremony, parsed)
	if err == nil && seen.Authenticator.CloneWarning {
		err = errPasskeyCopied
	}
	if err != nil {
		return u, used, a.refusedPasskey(err)
	}
	used.Passkey, err = json.Marshal(seen)
	return u, used, err
}

// findPasskey finds the person to whom the answer belongs. Unknown passkeys and those of people who
// may not sign in are refused alike.
func (a *Accounts) findPasskey(
	ctx context.Context, id, handle []byte,
) (u controlplane.User, f controlplane.Factor, err error) {
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		found, ok, err := tx.Factors().ByCredential(ctx, base64.RawURLEncoding.EncodeToString(id))
		if err != nil {
			return err
		}
		if !ok || string(handle) != string(found.User) {
			return a.refusedPasskey(errors.New("nobody has this passkey"))
		}
		who, err := tx.Users().ByID(ctx, found.User)
		if err == nil && !who.Active {
			err = a.refusedPasskey(errors.New(who.Name + " is switched off"))
		}
		u, f = who.User, found
		return err
	})
	return u, f, err
}

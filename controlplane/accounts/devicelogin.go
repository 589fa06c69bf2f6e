package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// A program without a browser asks for a short code, shows it, and polls until a person has
// confirmed the code in a browser (RFC 8628). The person sees what asks and from where, and has to
// be the one who started it: a code that somebody sent them would sign in somebody else's program.

const (
	// deviceLoginLife is how long a person has to confirm.
	deviceLoginLife = 10 * time.Minute
	// firstPause is how long a program waits between two polls; each that comes too soon adds as
	// much again.
	firstPause = 5 * time.Second
	// mostDeviceLogins is how many may wait that came from one address.
	mostDeviceLogins = 20
	// codeLetters has no vowels, so that no code is a word, and nothing that looks alike: eight of
	// them are 25 billion codes.
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength  = 8
)

// DeviceLoginStart is what a program gets that asks to be signed in.
type DeviceLoginStart struct {
	// Secret is what it polls with, Code what it shows.
	Secret controlplane.Plain
	Code   string
	// URL is where people type the code, in whose link it is already.
	URL, Link     string
	Lasts, Pauses time.Duration
}

// BeginDeviceLogin stores that a program asks for a token.
func (a *Accounts) BeginDeviceLogin(
	ctx context.Context, actor access.Actor, r TokenRequest,
) (s DeviceLoginStart, err error) {
	if err := r.check(); err != nil {
		return s, err
	}
	network := networkOf(actor.RemoteAddress())
	now := a.now()
	if err := a.limits.takeCeremony(network, now); err != nil {
		return s, err
	}
	if r.Scope == "" {
		r.Scope = controlplane.ScopeFull
	}
	secret, code := randomBits(), randomCode()
	d := controlplane.DeviceLogin{ID: controlplane.NewID[controlplane.DeviceLoginID](), Code: code,
		Name: r.Name, Address: actor.RemoteAddress(), Scope: r.Scope, Lasts: r.Lasts,
		CreatedAt: now, ExpiresAt: now.Add(deviceLoginLife)}
	err = a.store.InTx(ctx, func(tx *postgres.Tx) error {
		n, err := tx.DeviceLogins().Count(ctx, d.Address, now)
		if err != nil {
			return err
		}
		if n >= mostDeviceLogins {
			return &controlplane.Error{Kind: controlplane.TooMany, Code: "too_many_device_logins",
				Message:    "too many sign-ins of programs at this address wait to be confirmed",
				Remedy:     "Confirm or deny them, or wait until they have ended.",
				RetryAfter: time.Minute}
		}
		return tx.DeviceLogins().Insert(ctx, d, sha256.Sum256([]byte(secret)))
	})
	s = DeviceLoginStart{Secret: controlplane.NewPlain(secret), Code: showCode(code),
		Lasts: deviceLoginLife, Pauses: firstPause}
	if a.site.url != nil {
		s.URL = strings.TrimRight(a.site.url.String(), "/") + "/device"
		s.Link = s.URL + "?code=" + s.Code
	}
	return s, err
}

func randomCode() string {
	var out strings.Builder
	b := make([]byte, 1)
	for out.Len() < codeLength {
		_, _ = rand.Read(b) // never fails: the process dies instead
		if int(b[0]) < 256/len(codeLetters)*len(codeLetters) {
			out.WriteByte(codeLetters[int(b[0])%len(codeLetters)])
		}
	}
	return out.String()
}

// showCode is how people read a code.
func showCode(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// readCode reads what a person typed, in any case and with any separators.
func readCode(typed string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(codeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(foldCode(typed)))
}

// DeviceLogin returns what asks with a code, for the person who is to confirm it. Wrong codes are
// limited per person and network.
func (a *Accounts) DeviceLogin(
	ctx context.Context, actor access.Actor, typed string,
) (d controlplane.DeviceLogin, err error) {
	if err := checkBrowser(actor); err != nil {
		return d, err
	}
	refund, err := a.limits.takeCode("device login of "+actor.Name(),
		networkOf(actor.RemoteAddress()), a.now())
	if err != nil {
		return d, err
	}
	var ok bool
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		d, ok, err = tx.DeviceLogins().ByCode(ctx, readCode(typed), a.now())
		return err
	})
	if err != nil {
		return d, err
	}
	if !ok {
		return d, codeUnknown()
	}
	refund()
	d.Code = showCode(d.Code)
	return d, nil
}

// checkBrowser lets in people who use a browser as themselves.
func checkBrowser(actor access.Actor) error {
	err := access.Check(actor, access.Self, access.Object{})
	switch {
	case err != nil:
		return err
	case actor.LacksFactor():
		return access.FactorError()
	case actor.Session() == "" || actor.Viewer() != "":
		return &controlplane.Error{Kind: controlplane.Forbidden, Code: "session_needed",
			Message: "programs are signed in by people in a browser",
			Remedy:  "Sign in with a browser as yourself, and confirm it there."}
	}
	return nil
}

func codeUnknown() error {
	return &controlplane.Error{Kind: controlplane.NotFound, Code: "code_unknown", Field: "code",
		Message: "no program waits with this code",
		Remedy: "Compare it with what the program shows. It is good once, for ten minutes; start the " +
			"program again for a new one."}
}

// DecideDeviceLogin signs a program in as the person, or refuses it.
func (a *Accounts) DecideDeviceLogin(
	ctx context.Context, actor access.Actor, typed string, approve bool,
) error {
	d, err := a.DeviceLogin(ctx, actor, typed)
	if err != nil {
		return err
	}
	action := "approve device login"
	d.User, d.State = actor.UserID(), controlplane.DeviceLoginApproved
	if !approve {
		action, d.State = "deny device login", controlplane.DeviceLoginDenied
	}
	e := actor.NewAuditEntry(action, "program "+d.Name)
	e.Detail = "from " + d.Address
	return a.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		ok, err := tx.DeviceLogins().Decide(ctx, d, a.now())
		if err == nil && !ok {
			err = codeUnknown()
		}
		return err
	})
}

// PollDeviceLogin returns the program's token, once its person has confirmed it. Errors have the
// codes of RFC 8628.
func (a *Accounts) PollDeviceLogin(
	ctx context.Context, actor access.Actor, secret controlplane.Plain,
) (t controlplane.APIToken, value controlplane.Plain, err error) {
	var d controlplane.DeviceLogin
	var owner controlplane.User
	var refusal error
	err = a.store.InTx(ctx, func(tx *postgres.Tx) error {
		var known bool
		d, known, err = tx.DeviceLogins().Lock(ctx, sha256.Sum256([]byte(secret.Reveal())))
		if err != nil {
			return err
		}
		if refusal, err = a.judgePoll(ctx, tx, d, known); err != nil || refusal != nil {
			return err
		}
		if owner, err = tx.Users().ForAccess(ctx, d.User); err == nil && !owner.Active {
			refusal = accessDenied()
		}
		return err
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return t, value, err
	}
	e := access.User(owner, nil).WithOrigin(actor.RemoteAddress(), actor.Request()).
		NewAuditEntry("create token", "")
	return a.makeToken(ctx, actor, e, d.User,
		TokenRequest{Name: d.Name, Scope: d.Scope, Lasts: d.Lasts})
}

// judgePoll says why a program gets no token now, and uses the login up if it gets one.
func (a *Accounts) judgePoll(ctx context.Context, tx *postgres.Tx, d controlplane.DeviceLogin,
	known bool) (refusal, err error) {
	now := a.now()
	all := tx.DeviceLogins()
	switch {
	case !known || !now.Before(d.ExpiresAt):
		return &controlplane.Error{Kind: controlplane.Invalid, Code: "expired_token",
			Message: "nobody confirmed this sign-in in time, or it was used already",
			Remedy:  "Start again, and confirm it within ten minutes."}, nil
	case d.State == controlplane.DeviceLoginDenied:
		return accessDenied(), all.Delete(ctx, d.ID)
	case !d.PolledAt.IsZero() && now.Sub(d.PolledAt) < d.Pause:
		pause := min(d.Pause+firstPause, time.Minute)
		return &controlplane.Error{Kind: controlplane.TooMany, Code: "slow_down", RetryAfter: pause,
			Message: "the program asks too often",
			Remedy:  "Wait five seconds longer between two requests."}, all.NotePoll(ctx, d.ID, now, pause)
	case d.State == controlplane.DeviceLoginApproved:
		return nil, all.Delete(ctx, d.ID)
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "authorization_pending",
		RetryAfter: d.Pause, Message: "nobody has confirmed this sign-in yet",
		Remedy: "Confirm it in a browser; then ask again."}, all.NotePoll(ctx, d.ID, now, d.Pause)
}

func accessDenied() error {
	return &controlplane.Error{Kind: controlplane.Forbidden, Code: "access_denied",
		Message: "the sign-in was denied in the browser",
		Remedy:  "Start again if that was a mistake."}
}

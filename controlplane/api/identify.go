package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
)

// caller is who sends a request, and the credential to check that again.
type caller struct {
	actor      access.Actor
	nobody     access.Actor
	credential accounts.Credential
	// viewAs is whose eyes an admin asks for.
	viewAs string
	// asOf is the time before which results must not have been read.
	asOf time.Time
}

// viewAsHeader names the person an admin wants to see everything as.
const viewAsHeader = "X-Nullops-View-As"

func callerOf(ctx context.Context) caller      { return noteOf(ctx).who }
func actorOf(ctx context.Context) access.Actor { return callerOf(ctx).actor }

// authenticate turns the cookie or the bearer token into an actor. A public operation
// needs neither, and an old cookie must not prevent signing in.
func (s *server) authenticate(r *http.Request, action access.Action) (caller, error) {
	nobody := s.nobodyOf(r)
	c := caller{actor: nobody, nobody: nobody}
	if action == access.Public {
		return c, nil
	}
	var err error
	if c.credential, err = s.readCredential(r); err != nil {
		return c, err
	}
	c.viewAs = r.Header.Get(viewAsHeader)
	return s.reauthenticateCaller(r.Context(), c)
}

// nobodyOf is the caller before authentication. The User-Agent is stored with
// sessions, so bytes that are not UTF-8 are replaced: many old programs send Latin-1,
// and must not be refused for that.
func (s *server) nobodyOf(r *http.Request) access.Actor {
	device := strings.ToValidUTF8(r.UserAgent(), "\uFFFD")
	return access.Nobody().WithOrigin(clientAddress(r), requestID(r.Context())).WithDevice(device).
		WithDeviceKey(s.deviceKey(r))
}

// reauthenticateCaller checks again who the caller is: they may have signed out, been
// deactivated, or got other grants since the request began.
func (s *server) reauthenticateCaller(ctx context.Context, c caller) (caller, error) {
	actor, err := s.Accounts.Authenticate(ctx, c.nobody, c.credential)
	if err == nil && c.viewAs != "" {
		err = checkStorable(viewAsHeader, []string{c.viewAs})
	}
	if err == nil && c.viewAs != "" {
		actor, err = s.Accounts.ViewAs(ctx, actor, c.viewAs)
	}
	c.actor = actor
	return c, err
}

func (s *server) readCredential(r *http.Request) (accounts.Credential, error) {
	var c accounts.Credential
	if value := r.Header.Get("Authorization"); value != "" {
		scheme, token, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return c, &controlplane.Error{
				Kind: controlplane.Unauthenticated, Code: "unauthenticated",
				Message: "the Authorization header is not a bearer token",
				Remedy:  "Send Authorization: Bearer followed by an API token.",
			}
		}
		c.Bearer = controlplane.NewPlain(strings.TrimSpace(token))
		return c, nil
	}
	cookies := r.CookiesNamed(s.cookieName())
	if len(cookies) > 1 {
		// A sibling host can add a cookie of our name, and which one comes
		// first is up to it.
		return c, &controlplane.Error{
			Kind: controlplane.Unauthenticated, Code: "two_sessions",
			Message: "the browser sends two session cookies",
			Remedy:  "Delete this site's cookies and sign in again.",
		}
	}
	if len(cookies) == 1 && cookies[0].Value != "" {
		c.Session = controlplane.NewPlain(cookies[0].Value)
	}
	return c, nil
}

// cookieName has, with https, the prefix that lets no sibling host set it.
func (s *server) cookieName() string {
	if s.secure {
		return "__Host-nullops_session"
	}
	return "nullops_session"
}

func (s *server) sessionCookie(value string, expires time.Time) string {
	c := http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", Expires: expires,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c.String()
}

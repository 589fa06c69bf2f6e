package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// The two addresses of signing in by an OpenID provider. They are pages, not
// operations: a browser walks through them, coming from another site.
const (
	oidcStart    = "/oidc/start"
	oidcCallback = "/oidc/callback"
	// oidcSeconds is how long a person may take to sign in at the provider.
	oidcSeconds = 900
)

func (s *server) GetSignIn(
	_ context.Context, _ GetSignInRequestObject,
) (GetSignInResponseObject, error) {
	all := []SignInProvider{}
	if s.OIDC != nil {
		all = append(all, SignInProvider{Name: s.OIDC.Name, Url: oidcStart})
	}
	return GetSignIn200JSONResponse{Password: true, Providers: all,
		Passkeys: ptrOrNil(s.Accounts.HasPasskeys())}, nil
}

// serveOIDC answers both addresses. Whatever goes wrong is a page in words.
func (s *server) serveOIDC(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	var err error
	switch {
	case s.OIDC == nil:
		err = controlplane.NewNotFoundError("sign-in with an OpenID provider", "")
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case r.URL.Path == oidcStart:
		err = s.toProvider(w, r)
	case r.URL.Path == oidcCallback:
		err = s.fromProvider(w, r)
	default:
		err = controlplane.NewNotFoundError("page", r.URL.Path)
	}
	if err != nil {
		s.writeErrorPage(w, r, err)
	}
}

// oidcFlow is stored in the browser while the person is at the provider: the values
// that must come back, and the path they wanted before.
type oidcFlow struct {
	accounts.SignInFlow
	Next string
}

// ownPath is a path of this site, and its first page in the place of anything
// else: a link must not send people elsewhere once they are signed in.
func ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.Contains(next, `\`) ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		return "/"
	}
	return next
}

// longestNext fits into a cookie together with the rest: browsers silently drop
// cookies above 4,096 bytes, and the sign-in would fail.
const longestNext = 1500

// keepablePath returns the path to return to, or "/" if it is too long for the cookie.
func keepablePath(next string) string {
	next = ownPath(next)
	if text, err := json.Marshal(next); err != nil || len(text) > longestNext {
		return "/"
	}
	return next
}

// toProvider stores the values that must come back in a cookie, and redirects to the
// provider.
func (s *server) toProvider(w http.ResponseWriter, r *http.Request) error {
	to, flow, err := s.OIDC.BeginSignIn(r.Context())
	if err != nil {
		return err
	}
	text, err := json.Marshal(
		oidcFlow{SignInFlow: flow, Next: keepablePath(r.URL.Query().Get("next"))},
	)
	if err != nil {
		return err
	}
	s.setFlow(w, base64.RawURLEncoding.EncodeToString(text), oidcSeconds)
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// setFlow is lax, since the provider's answer comes from another site.
func (s *server) setFlow(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: s.flowName(), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode})
}

func (s *server) flowName() string {
	if s.secure {
		return "__Host-nullops_oidc"
	}
	return "nullops_oidc"
}

// fromProvider signs in the person that the provider identifies: only once, and only in the browser
// that began the sign-in.
func (s *server) fromProvider(w http.ResponseWriter, r *http.Request) error {
	flow := s.readFlow(r)
	s.setFlow(w, "", -1)
	nobody := s.nobodyOf(r)
	query := r.URL.Query()
	if query.Get("error") != "" {
		return &controlplane.Error{
			Kind: controlplane.Unauthenticated, Code: "provider_refused",
			Cause:   errors.New("the provider says " + query.Get("error")),
			Message: "the OpenID provider did not sign you in",
			Remedy:  "Begin again, or ask who runs the provider whether you may use NullOps.",
		}
	}
	in, err := s.Accounts.SignInWith(r.Context(), nobody, s.OIDC, flow.SignInFlow,
		query.Get("state"), query.Get("code"))
	if err != nil {
		return err
	}
	w.Header().Add("Set-Cookie", s.sessionCookie(in.Cookie.Reveal(), in.Expires))
	http.Redirect(w, r, ownPath(flow.Next), http.StatusSeeOther)
	return nil
}

// readFlow reads the sign-in state from the browser's cookie. A damaged one counts as none: its
// state matches nothing.
func (s *server) readFlow(r *http.Request) (f oidcFlow) {
	cookies := r.CookiesNamed(s.flowName())
	if len(cookies) != 1 {
		return f
	}
	text, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil || json.Unmarshal(text, &f) != nil {
		return oidcFlow{}
	}
	return f
}

var wordyPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Not signed in</title>
<meta name="viewport" content="width=device-width"></head><body><main>
<h1>You are not signed in</h1>
<p>{{.Message}}.</p><p>{{.Remedy}}</p>
<p><a href="/sign-in">Back to the sign-in page</a></p>
<p><small>Request {{.Request}}</small></p>
</main></body></html>
`))

// writeErrorPage is an error page for people on their way between two sites.
func (s *server) writeErrorPage(w http.ResponseWriter, r *http.Request, err error) {
	known, ok := errors.AsType[*controlplane.Error](err)
	level := s.Log.WarnContext
	if !ok {
		known, level = internalError(), s.Log.ErrorContext
	}
	cause := err
	if known.Cause != nil {
		cause = known.Cause
	}
	level(r.Context(), "sign-in with the OpenID provider", "request_id",
		requestID(r.Context()), "error", cause.Error())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(httpStatus(known.Kind))
	_ = wordyPage.Execute(w, map[string]string{"Message": known.Message, "Remedy": known.Remedy,
		"Request": requestID(r.Context())})
}

package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// Pages that work without the UI: people reach them through links from elsewhere, sometimes without
// being signed in.

//go:embed plain.css
var plainStyle string

//go:embed gate.html.tmpl
var gateTemplate string

//go:embed trust.html.tmpl
var trustTemplate string

const gateScript = "document.forms[0].submit()"

var plainPages = template.Must(template.Must(
	template.New("gate").Parse(gateTemplate)).New("trust").Parse(trustTemplate))

// plainPolicy lets a page use its own style and script, and send its form to
// the given places.
func plainPolicy(script, forms string) string {
	p := "default-src 'none'; style-src " + hashOf(plainStyle) + "; base-uri 'none'; " +
		"frame-ancestors 'none'; form-action " + forms
	if script != "" {
		p += "; script-src " + hashOf(script)
	}
	return p
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func writePlain(w http.ResponseWriter, name, policy string, status int, data any) {
	var b bytes.Buffer
	if err := plainPages.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client is gone
}

type gateView struct {
	Title, Host, Action, Code, To string
	Near                          []string
	Style                         template.CSS
	Script                        template.JS
}

// handOver sends a signed-in person to a deployment's host with a code in a form, so
// that the code is in no address, history or log.
func (s *server) handOver(w http.ResponseWriter, r *http.Request) {
	who, err := s.authenticate(r, access.Self)
	if err != nil || !who.actor.SignedIn() {
		next := url.Values{"next": {"/gate?" + r.URL.RawQuery}}
		http.Redirect(w, r, "/sign-in?"+next.Encode(), http.StatusSeeOther)
		return
	}
	host := strings.ToLower(r.URL.Query().Get("host"))
	code, err := s.Gate.CreateSignInCode(r.Context(), who.actor, host)
	switch {
	case controlplane.KindOf(err) == controlplane.NotFound:
		s.nothingThere(w, r, who.actor, host)
	case err != nil:
		s.writeError(w, r, err)
	default:
		v := gateView{Title: "One moment", Host: host, Code: code.Reveal(),
			To: r.URL.Query().Get("to"), Action: s.Lifecycle.URL(host) + "/.nullops/pass",
			Style: template.CSS(plainStyle), Script: gateScript} //nolint:gosec // our own file
		// The host is one of the table of hosts: it is a DNS name. Both
		// schemes, since an environment may send plain HTTP to HTTPS.
		writePlain(w, "gate", plainPolicy(gateScript, "http://"+host+":* https://"+host+":*"),
			http.StatusOK, v)
	}
}

// nothingThere is for a host that is not, or not for this person.
func (s *server) nothingThere(
	w http.ResponseWriter, r *http.Request, actor access.Actor, host string,
) {
	near, err := s.Gate.SimilarHosts(r.Context(), actor, host)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	v := gateView{Title: "There is nothing at this address", Host: host,
		Style: template.CSS(plainStyle)} //nolint:gosec // our own file
	for _, n := range near {
		v.Near = append(v.Near, s.Lifecycle.URL(n))
	}
	writePlain(w, "gate", plainPolicy("", "'none'"), http.StatusNotFound, v)
}

// serveTrust explains the internal certificate authority, and hands its root out.
func (s *server) serveTrust(w http.ResponseWriter, r *http.Request) {
	a, err := s.Certificates.Authority(r.Context(), access.Nobody())
	if err != nil && controlplane.KindOf(err) != controlplane.NotFound {
		s.writeError(w, r, err)
		return
	}
	if r.URL.Path == "/trust/root.crt" {
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/x-x509-ca-cert")
		w.Header().Set("Content-Disposition", `attachment; filename="nullops-root.crt"`)
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(a.Certificate)) // the client is gone
		return
	}
	writePlain(w, "trust", plainPolicy("", "'none'"), http.StatusOK, struct {
		Found                       bool
		Subject, Fingerprint, Until string
		Style                       template.CSS
	}{err == nil, a.Subject, a.Fingerprint, a.NotAfter.UTC().Format("2 January 2006"),
		template.CSS(plainStyle)}) //nolint:gosec // our own file
}

// withPlainPages answers for the pages that work without the interface.
func (s *server) withPlainPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch path := r.URL.Path; {
		case reads && path == "/gate":
			s.handOver(w, r)
		case reads && (path == "/trust" || path == "/trust/root.crt"):
			s.serveTrust(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

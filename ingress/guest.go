package ingress

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
)

//go:embed guest.html.tmpl
var guestTemplate string

// guestScript moves the guest token from the address's fragment, which browsers never send
// to a server, into a form.
const guestScript = `var f=document.forms[0];f.pass.value=location.hash.slice(1);` +
	`history.replaceState(null,"",location.pathname);if(f.pass.value)f.submit()`

// guestPage is where guest links lead, the same for everybody.
type guestPage struct {
	body   []byte
	policy string
}

func newGuestPage() (*guestPage, error) {
	t, err := template.New("guest").Parse(guestTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Style  template.CSS
		Script template.JS
	}{template.CSS(pageStyle), guestScript}) //nolint:gosec // our own files, no input
	return &guestPage{body: b.Bytes(), policy: "default-src 'none'; style-src " + cspHash(pageStyle) +
		"; script-src " + cspHash(guestScript) +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"}, err
}

// cspHash names a text in a Content-Security-Policy.
func cspHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// writeGuestPage writes the page.
func (s *pages) writeGuestPage(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(s.invited.body)))
	h.Set("Content-Security-Policy", s.invited.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(s.invited.body) // nobody is left to tell
}

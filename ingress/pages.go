package ingress

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

const (
	// retryStarting is how soon a page of something that is on its way asks
	// again: a step takes seconds, and a person waits.
	retryStarting = 5
	// retryOffline is slower: machines come back in minutes.
	retryOffline = 15
)

// pages writes what is said instead of a service.
type pages struct {
	template *template.Template
	policy   string // Content-Security-Policy
	live     string // the policy of pages that look by themselves
	home     string
	now      func() time.Time
	nothing  *page // the constant page of unknown hosts
	gate     *page // the constant page of hosts that ask for a pass
	invited  *guestPage
	about    *template.Template
}

// page is one answer, both for people and for machines.
type page struct {
	Status   int
	Kind     string // machines tell cases apart by it; see problemType
	Glyph    string // a state of design.md; colour and shape
	Host     string
	Title    string
	Lead     string
	Facts    []fact
	Steps    []Step
	Versions []shownVersion
	Link     string // the deployment in the UI
	Act      string // what the viewer can do there
	Log      string // its log in the UI, if there can be one
	Near     bool   // offer to look for names like this one
	Home     string
	Retry    int  // seconds; 0 is no Retry-After
	Refresh  bool // look by itself whether it has changed
	Again    bool // offer to load the page again
	Time     string
	Request  string // names this answer; constant pages have none
	Style    template.CSS
	Script   template.JS
	set      *pages
	rendered []byte // of constant pages
}

type fact struct{ Name, Value string }

// shownVersion is what one service is made of, as far as a status page says it. More is on
// /.nullops/.
type shownVersion struct {
	Service string `json:"service"`
	Tag     string `json:"tag"`
	Commit  string `json:"commit,omitempty"`
}

func newPages(home string, now func() time.Time) (*pages, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse status page: %w", err)
	}
	about, err := template.New("about").Parse(aboutTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the page about a host: %w", err)
	}
	s := &pages{template: t, about: about, home: webURLOrEmpty(home), now: now}
	// Nothing but our own style and script may run or load: a page shows text that a
	// plugin wrote.
	s.policy = "default-src 'none'; style-src " + cspHash(pageStyle) +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	s.live = s.policy + "; script-src " + cspHash(liveScript) + "; connect-src 'self'"
	s.nothing = &page{
		set: s, Status: http.StatusNotFound, Kind: "unknown-host", Glyph: "unknown",
		Title: "There is nothing at this address",
		Lead: "No service answers to this name. Names are made of service, deployment and " +
			"environment; a letter may be missing, or the deployment is older than its record.",
		Home: s.home, Near: s.home != "",
	}
	s.gate = &page{
		set: s, Status: http.StatusUnauthorized, Kind: "gate", Glyph: "unknown",
		Title: "Nobody is let in here without a pass",
		Lead: "Open this address in a browser and sign in, use a guest link that has not ended, " +
			"or send a robot's token as Nullops-Pass.",
		Home: s.home,
	}
	// Rendered once: these pages reveal nothing, not even the time.
	if s.nothing.rendered, err = s.nothing.renderHTML(); err != nil {
		return nil, err
	}
	if s.gate.rendered, err = s.gate.renderHTML(); err != nil {
		return nil, err
	}
	s.invited, err = newGuestPage()
	return s, err
}

// gateClosedPage is shown when passes cannot be checked.
func (s *pages) gateClosedPage() *page {
	return &page{
		set: s, Status: http.StatusServiceUnavailable, Kind: "gate-closed", Glyph: "warn",
		Title: "Passes cannot be checked at the moment",
		Lead:  "The gate is closed until they can. Load the page again in a moment.",
		Home:  s.home, Retry: retryStarting, Refresh: true,
	}
}

// loadingPage is shown for every host that has no service before the routing table has been
// read.
func (s *pages) loadingPage() *page {
	return &page{
		set: s, Status: http.StatusServiceUnavailable, Kind: "loading", Glyph: "warn",
		Title: "The ingress has just been started",
		Lead: "It has not read yet which services there are. This page goes on by itself as soon " +
			"as it has.",
		Home: s.home, Retry: 1, Refresh: true,
	}
}

// unknownHostPage is the same for every unknown host, and does not repeat its name.
func (s *pages) unknownHostPage() *page { return s.nothing }

// write sends the page, as problem+json to clients that ask for JSON.
func (p *page) write(w http.ResponseWriter, r *http.Request) error {
	body, kind := p.rendered, "text/html; charset=utf-8"
	if body == nil {
		p.Request = requestID()
		// Without a person's action, only GET and HEAD requests are sent again.
		p.Again = p.Again || p.Refresh && !isRead(r)
		p.Refresh = p.Refresh && isRead(r)
	}
	if isGRPC(r.Header.Get("Content-Type")) || isGRPCWeb(r.Header.Get("Content-Type")) {
		p.writeStatus(w, r)
		return nil
	}
	var err error
	if wantsJSON(r) {
		body, err = p.renderProblem()
		kind = "application/problem+json"
	} else if body == nil {
		body, err = p.renderHTML()
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return fmt.Errorf("render %s: %w", p.Kind, err)
	}
	p.setHeaders(w.Header(), kind, len(body))
	w.WriteHeader(p.Status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = w.Write(body)
	return err
}

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

func (p *page) setHeaders(h http.Header, kind string, length int) {
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(length))
	h.Set("Content-Security-Policy", p.set.policy)
	if p.Refresh {
		h.Set("Content-Security-Policy", p.set.live)
		h.Set(stateHeader, p.State())
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store") // the next answer may be the service's
	h.Set("Vary", "Accept")
	h.Set("Nullops-Page", p.Kind) // distinguishes our answer from an application's
	if p.Request != "" {
		h.Set("X-Request-Id", p.Request)
	}
	if p.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(p.Retry))
	}
}

func (p *page) renderHTML() ([]byte, error) {
	p.Style = template.CSS(pageStyle) //nolint:gosec // our own file, no part of it is input
	p.Script = liveScript
	var b bytes.Buffer
	if err := p.set.template.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// renderProblem is the page as RFC 9457 has it, with the fields of the API's
// problems: what happened, in which part, what to do.
func (p *page) renderProblem() ([]byte, error) {
	return json.Marshal(struct {
		Type       string `json:"type"`
		Title      string `json:"title"`
		Status     int    `json:"status"`
		Detail     string `json:"detail"`
		Code       string `json:"code"`
		Deployment string `json:"deployment_url,omitempty"`
		Retry      int    `json:"retry_after,omitempty"`
		Steps      []Step `json:"steps,omitempty"`

		Versions []shownVersion `json:"versions,omitempty"`
		Request  string         `json:"request_id,omitempty"`
	}{"about:blank", p.Title, p.Status, p.Lead, p.Kind, p.Link, p.Retry, p.Steps, p.Versions,
		p.Request})
}

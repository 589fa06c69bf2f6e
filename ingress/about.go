package ingress

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/quantity"
)

//go:embed about.html.tmpl
var aboutTemplate string

// About is what a host's deployment runs, and why there is one. Its JSON is /.nullops/build.
type About struct {
	Deployment  string     `json:"deployment"`
	Project     string     `json:"project"`
	Environment string     `json:"environment"`
	State       string     `json:"state"`
	CreatedBy   string     `json:"created_by"`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
	// Why is absent from one that a person or a program made.
	Why             *AboutReview   `json:"why,omitempty"`
	PipelineVersion int            `json:"pipeline_version"`
	Run             int            `json:"run"`
	Services        []AboutService `json:"services"`
	// Visitors made a request within the last minutes. Guests and programs see how many.
	Visitors []AboutVisitor `json:"visitors,omitempty"`
	// Verdict is QA's on these images; absent if none stands.
	Verdict *AboutVerdict `json:"verdict,omitempty"`
	// Page is the deployment in the UI.
	Page string `json:"page,omitempty"`
}

// AboutReview is the pull request, or the pushed branch, that a deployment was made for.
type AboutReview struct {
	Title  string `json:"title,omitempty"`
	Number int    `json:"number,omitempty"`
	Link   string `json:"link,omitempty"`
	Branch string `json:"branch"`
	Commit string `json:"commit,omitempty"`
}

// AboutVerdict is what QA says about the images that run.
type AboutVerdict struct {
	Outcome string    `json:"outcome"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Words says it for people.
func (v AboutVerdict) Words() string {
	word := v.Outcome
	if word == "remarks" {
		word = "passed with remarks"
	}
	return word + ", by " + v.By
}

// AboutService is one service's version. What its image does not say is left out.
type AboutService struct {
	Service string     `json:"service"`
	Image   string     `json:"image"`
	Tag     string     `json:"tag"`
	Digest  string     `json:"digest"`
	Branch  string     `json:"branch,omitempty"`
	Commit  string     `json:"commit,omitempty"`
	BuiltAt *time.Time `json:"built_at,omitempty"`
	// Newer is the newest tag of the branch, if that is another one.
	Newer string `json:"newer_tag,omitempty"`
	// Here is set for the service that this host leads to.
	Here bool `json:"here,omitempty"`
}

// AboutVisitor is somebody who is at the deployment's addresses, or how many are.
type AboutVisitor struct {
	Kind     string    `json:"kind"`
	Name     string    `json:"name,omitempty"`
	Visitors int       `json:"visitors"`
	LastSeen time.Time `json:"last_seen"`
}

// isBuildPath reports whether a path is that of the JSON.
func isBuildPath(path string) bool { return path == ownPath+"build" }

// aboutPage is what people see of it.
type aboutPage struct {
	About
	Host   string
	Lead   string
	Ends   string
	Why    *AboutReview
	Report string
	Home   string
	Style  template.CSS
	Now    time.Time
}

// serveAbout answers what a host runs, behind the host's gate. Hosts that nobody knows get the
// same answers as those that ask for a pass.
func (p *Proxy) serveAbout(w http.ResponseWriter, r *http.Request, at *requestTarget) {
	if at.gate != GateOpen && !p.checkPass(w, r, at) {
		return
	}
	if at.route == nil {
		p.answerPage(w, r, p.pages.unknownHostPage())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), aboutTimeout)
	defer cancel()
	about, err := p.config.About(ctx, *at.route)
	if err != nil {
		p.config.Log.Warn("what a host runs is not known", "host", at.host, "error", err)
		p.answerPage(w, r, p.pages.aboutUnknownPage())
		return
	}
	for i := range about.Services {
		about.Services[i].Here = about.Services[i].Service == at.route.Service
	}
	if at.pass == nil || at.pass.Guest || at.pass.Deployment == "" {
		about.Visitors = countOnly(about.Visitors)
	}
	about.State, about.Page = string(at.route.State), webURLOrEmpty(at.route.Permalink)
	body, kind := []byte(nil), "text/html; charset=utf-8"
	if isBuildPath(r.URL.Path) {
		kind = "application/json"
		body, err = json.MarshalIndent(about, "", "  ")
	} else {
		body, err = p.pages.renderAbout(about, at.host, reportedAddress(r))
	}
	if err != nil {
		p.config.Log.Error("what a host runs cannot be shown", "host", at.host, "error", err)
		p.answerPage(w, r, p.pages.aboutUnknownPage())
		return
	}
	p.config.OnAnswer(at.environment(), http.StatusOK)
	p.pages.writeAbout(w, r, kind, body)
}

// countOnly leaves out who is there: strangers see how many.
func countOnly(all []AboutVisitor) []AboutVisitor {
	if len(all) == 0 {
		return nil
	}
	one := AboutVisitor{Kind: "count", LastSeen: all[0].LastSeen}
	for _, v := range all {
		one.Visitors += v.Visitors
	}
	return []AboutVisitor{one}
}

// Who words who it is.
func (v AboutVisitor) Who() string {
	switch v.Kind {
	case "guest":
		return strings.TrimSpace("A guest " + v.Name)
	case "robot":
		return strings.TrimSpace("A robot " + v.Name)
	case "count":
		return quantity.FormatCount(v.Visitors, "visitor", "visitors")
	}
	return v.Name
}

// Ago words when their last request was.
func (v AboutVisitor) Ago(now time.Time) string {
	return quantity.FormatAhead(max(now.Sub(v.LastSeen), 0)) + " ago"
}

// readVersions returns what the services of a route that is not ready are made of. A status page
// does not wait long for that, and does without it.
func (p *Proxy) readVersions(ctx context.Context, r *Route) []shownVersion {
	if p.config.About == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionsTimeout)
	defer cancel()
	about, err := p.config.About(ctx, *r)
	if err != nil {
		p.config.Log.Warn("a status page is without versions", "host", r.Host, "error", err)
		return nil
	}
	var all []shownVersion
	for _, s := range about.Services {
		const shown = 7
		all = append(all, shownVersion{Service: s.Service, Tag: s.Tag,
			Commit: s.Commit[:min(shown, len(s.Commit))]})
	}
	return all
}

// versionsTimeout bounds what a status page waits for: it says the rest without the database.
const versionsTimeout = time.Second

// aboutTimeout bounds what a page waits for.
const aboutTimeout = 8 * time.Second

// aboutUnknownPage is shown while the database is away.
func (s *pages) aboutUnknownPage() *page {
	return &page{
		set: s, Status: http.StatusServiceUnavailable, Kind: "about-unknown", Glyph: "warn",
		Title: "What runs here cannot be read at the moment",
		Lead:  "The service itself is not affected. Load the page again in a moment.",
		Home:  s.home, Retry: retryStarting, Again: true,
	}
}

// reportedAddress is the page that a tester came from, on this host, or else the host's first one.
func reportedAddress(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	here := &url.URL{Scheme: scheme, Host: r.Host, Path: "/"}
	from, err := url.Parse(r.Header.Get("Referer"))
	if err == nil && from.Host == r.Host && !strings.HasPrefix(from.Path, ownPath) {
		here.Path, here.RawQuery = from.Path, from.RawQuery
	}
	return here.String()
}

func (s *pages) renderAbout(about About, host, from string) ([]byte, error) {
	p := aboutPage{About: about, Host: host, Why: about.Why, Home: s.home, Now: s.now(),
		Style: template.CSS(pageStyle), //nolint:gosec // our own file, no part of it is input
		Lead: fmt.Sprintf("%s in %s, made by %s %s ago.", about.Project, about.Environment,
			about.CreatedBy, quantity.FormatAhead(s.now().Sub(about.CreatedAt)))}
	if about.ExpiresAt != nil {
		p.Ends = "in " + quantity.FormatAhead(about.ExpiresAt.Sub(s.now()))
	}
	if about.Why != nil {
		p.Why.Link = webURLOrEmpty(about.Why.Link)
	}
	if about.Page != "" {
		p.Report = about.Page + "/capsule?" + url.Values{"address": {from}}.Encode()
	}
	var b bytes.Buffer
	err := s.about.Execute(&b, p)
	return b.Bytes(), err
}

// Built words when an image was built.
func (s AboutService) Built(now time.Time) string {
	if s.BuiltAt == nil {
		return ""
	}
	return quantity.FormatAhead(now.Sub(*s.BuiltAt)) + " ago"
}

func (s *pages) writeAbout(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Content-Security-Policy", s.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Nullops-Page", "about")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // nobody is left to tell
	}
}

// keepsOwnPath reports whether the path is ours on this host. A service that has the prefix for
// itself keeps all of it but what the gate needs.
func (p *Proxy) keepsOwnPath(at *requestTarget, path string) bool {
	if p.config.Unreserved == nil || at.route == nil || !p.config.Unreserved(*at.route) {
		return true
	}
	switch strings.TrimPrefix(path, ownPath) {
	case "pass", "guest":
		return true
	}
	return false
}

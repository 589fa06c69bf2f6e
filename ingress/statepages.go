package ingress

import (
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/quantity"
)

// pageFor returns the page for a route that is not ready, and for the person the pass
// belongs to.
func (s *pages) pageFor(r *Route, viewer *heldPass) *page {
	p := s.newRoutePage(r)
	p.Act = linkText(r.State, viewer)
	switch r.State {
	case StateQueued, StateApplying:
		s.fillStarting(p, r)
	case StateUndoing, StateFailed:
		s.fillFailed(p, r)
	case StateOffline:
		p.Status, p.Kind, p.Retry, p.Refresh = http.StatusServiceUnavailable, "offline",
			retryOffline, true
		p.Title = "The machine under " + r.Service + " is out of reach"
		p.Lead = endSentence(r.Detail) + "The deployment is not moved elsewhere; this page opens " +
			r.Service + " when the machine is back."
	case StateStuck:
		p.markGone("removing")
		p.Title = r.Deployment + " is closed, and its removal is stuck"
		p.Lead = endSentence(r.Detail) + "An admin can try again or forget it."
	case StateRemoving:
		p.markGone("removing")
		p.Title = r.Deployment + " is being removed" + removedBy(r, viewer)
		p.Lead = endSentence(r.Detail) + "Its services are closed. Its logs and versions stay readable."
	case StateCanceled:
		p.markGone("canceled")
		p.Title = r.Deployment + " was canceled" + removedBy(r, viewer)
		p.Lead = endSentence(r.Detail) + "What had started was undone. Its run stays readable."
	default: // removed, forgotten
		p.markGone("removed")
		p.Title = r.Deployment + " was removed" + removedBy(r, viewer)
		p.Lead = endSentence(r.Detail) + "Its logs, versions and run stay readable for a while."
	}
	return p
}

// removedBy names the person who removed the deployment, but only to people with a pass:
// where the gate is open, anybody can read the page.
func removedBy(r *Route, viewer *heldPass) string {
	if r.By == "" || viewer == nil {
		return ""
	}
	return " by " + r.By
}

// linkText is the label of the link to the deployment, according to what the viewer may do
// there. A viewer without a pass may be anybody and is promised nothing; a guest can only
// look.
func linkText(s State, viewer *heldPass) string {
	switch {
	case viewer == nil:
		return "Open the deployment"
	case !viewer.Full:
		return "Look at its run"
	case s == StateFailed:
		return "Retry it"
	case s.isGone():
		return "Recreate it"
	case s == StateStuck:
		return "Try the removal again"
	case s == StateQueued || s == StateApplying:
		return "Watch or cancel it"
	}
	return "Open the deployment"
}

func (s *pages) fillStarting(p *page, r *Route) {
	p.Steps = r.Steps
	p.Status, p.Kind, p.Retry, p.Refresh = http.StatusServiceUnavailable, "starting",
		retryStarting, true
	p.Title = r.Service + " is starting"
	if r.State == StateQueued {
		p.Title = r.Service + " waits for its turn"
	}
	p.Lead = endSentence(r.Detail) + "This page opens " + r.Service +
		" by itself as soon as it answers; you can leave the tab alone."
}

func (s *pages) fillFailed(p *page, r *Route) {
	p.Status, p.Kind = http.StatusServiceUnavailable, "failed"
	p.Title = "This deployment failed, so " + r.Service + " is not running"
	p.Lead = endSentence(r.Detail) + "Everything was undone; nothing is left running."
	if r.State == StateUndoing {
		p.Kind = "undoing"
		p.Title = "This deployment failed and is being undone"
		p.Lead = endSentence(r.Detail) + "What had started is taken back, last step first."
		p.Steps = r.Steps
	}
}

func (p *page) markGone(kind string) {
	p.Status, p.Kind = http.StatusGone, kind
}

// unreachablePage is for a ready deployment whose service does not answer.
func (s *pages) unreachablePage(r *Route) *page {
	p := s.newRoutePage(r)
	p.Status, p.Kind, p.Glyph, p.Again = http.StatusBadGateway, "unreachable", "warn", true
	p.Title = r.Service + " does not answer"
	p.Lead = "The deployment is ready, but its service took no connection or ended it before " +
		"it had answered. It may be starting again; its log says more."
	return p
}

// refusalPage is for requests that are not forwarded, whatever their host.
func (s *pages) refusalPage(status int) *page {
	p := &page{set: s, Status: status, Kind: "bad-request", Glyph: "warn", Home: s.home}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		p.Kind, p.Again = "headers-too-large", true
		p.Title = "This browser sends too many cookies here"
		p.Lead = "Those of this host and its environment are now cleared. Load the page again; " +
			"you may have to sign in again. If this page stays, clear the cookies of the domain " +
			"in the browser."
	case http.StatusRequestTimeout:
		p.Kind = "request-timeout"
		p.Title = "The request did not come whole"
		p.Lead = "Nothing more of it was sent for too long. Send it again."
	case http.StatusMethodNotAllowed:
		p.Kind = "method-not-allowed"
		p.Title = "This method is not passed on"
		p.Lead = "TRACE and CONNECT end at the ingress. Use another method."
	default:
		p.Title = "This request cannot be passed on"
		p.Lead = "Its target must be a path that begins with a slash, with the host in the Host " +
			"header alone, and only one header may say where it ends."
	}
	return p
}

// newRoutePage fills in what every page about a route shows.
func (s *pages) newRoutePage(r *Route) *page {
	now := s.now()
	p := &page{
		set: s, Glyph: glyphOf(r.State), Host: r.Host, Link: r.Permalink, Home: s.home,
		Time: now.UTC().Format("15:04:05 UTC"),
	}
	// What is queued has written nothing, and the log of what is offline is out of reach too.
	if r.Permalink != "" && r.State != StateQueued && r.State != StateOffline {
		p.Log = r.Permalink + "/logs"
	}
	p.addFact("Deployment", r.Deployment)
	p.addFact("Project", r.Project)
	p.addFact("Environment", r.Environment)
	p.addFact("State", capitalize(string(r.State)))
	if !r.Since.IsZero() {
		p.addFact("Since", formatSince(r.Since, now))
	}
	return p
}

func glyphOf(s State) string {
	switch s {
	case StateForgotten:
		return string(StateRemoved)
	case StateReady:
		return "warn"
	}
	return string(s)
}

func (p *page) addFact(name, value string) {
	if value != "" {
		p.Facts = append(p.Facts, fact{name, value})
	}
}

// formatSince says when, and how long ago that is.
func formatSince(t, now time.Time) string {
	layout := "15:04 UTC"
	if t.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		layout = "2 Jan 2006, 15:04 UTC"
	}
	return t.UTC().Format(layout) + ", " + formatAgo(now.Sub(t))
}

func formatAgo(d time.Duration) string {
	if d < time.Minute {
		return "just now"
	}
	return quantity.FormatAhead(d) + " ago"
}

// endSentence ends a detail with a full stop and a space, so that another sentence can
// follow.
func endSentence(detail string) string {
	if detail == "" {
		return ""
	}
	if strings.HasSuffix(detail, ".") || strings.HasSuffix(detail, "…") {
		return detail + " "
	}
	return detail + ". "
}

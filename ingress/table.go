package ingress

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// State is the state of the deployment, or of its node, that a route leads to. Only
// StateReady is proxied; for every other state a page is shown.
type State string

// The states of a deployment, and StateOffline for one whose node is not connected.
const (
	StateQueued    State = "queued"
	StateApplying  State = "applying"
	StateReady     State = "ready"
	StateUndoing   State = "undoing"
	StateFailed    State = "failed"
	StateCanceled  State = "canceled"
	StateRemoving  State = "removing"
	StateRemoved   State = "removed"
	StateStuck     State = "stuck"
	StateForgotten State = "forgotten"
	StateOffline   State = "offline"
)

func (s State) isValid() bool {
	switch s {
	case StateQueued, StateApplying, StateReady, StateUndoing, StateFailed, StateCanceled,
		StateRemoving, StateRemoved, StateStuck, StateForgotten, StateOffline:
		return true
	}
	return false
}

// isGone says that the deployment has ended, so that a newer one may own the
// host.
func (s State) isGone() bool {
	return s == StateCanceled || s == StateRemoved || s == StateForgotten
}

// Route is what one host leads to.
type Route struct {
	// Host is the full name, "service.deployment.environment.domain" or the
	// flat "service--deployment--environment.domain"; both forms of one
	// service are two routes.
	Host string `json:"host"`

	DeploymentID string `json:"deployment_id"`
	Deployment   string `json:"deployment"`
	Environment  string `json:"environment"`
	Project      string `json:"project"`
	Service      string `json:"service"`
	Port         int    `json:"port"`

	// Target is opaque to this package and handed to Config.Dial with the
	// rest of the route: "deployment-id/service/port".
	Target string `json:"target"`
	NodeID string `json:"node_id"`

	// Gate says who has access; it is never more open than the zone's.
	Gate Gate `json:"gate,omitempty"`
	// Steps are shown while the deployment is on its way.
	Steps []Step `json:"steps,omitempty"`

	State State `json:"state"`
	zone  *Zone
	// Detail is one line that anybody who can reach the ingress may read:
	// why it failed, which step runs.
	Detail string `json:"detail,omitempty"`
	// Since is when State began. Zero when it is not known.
	Since time.Time `json:"since,omitzero"`
	// By is who removed it.
	By string `json:"by,omitempty"`
	// Build, if not empty, is sent with each response as Nullops-Build: "web=1.4.2@51d0e7b".
	Build string `json:"build,omitempty"`
	// KnownAs is the name under which its applications know themselves, if they are updated aside.
	// Visitors' browsers remember which of several deployments of a name answered them.
	KnownAs string `json:"known_as,omitempty"`
	// Formers had this host before; visitors who were there may stay for a while.
	Formers []Former `json:"formers,omitempty"`
	// Permalink is the deployment's page in the UI, absolute (http or https);
	// anything else is left out of the page.
	Permalink string `json:"permalink,omitempty"`
}

// Former is a deployment that had a host before. Its service answers at Host now.
type Former struct {
	DeploymentID string    `json:"deployment_id"`
	Host         string    `json:"host"`
	Until        time.Time `json:"until"`
}

// Step is one line of a page that waits.
type Step struct {
	Title  string     `json:"title"`
	Status StepStatus `json:"status"`
}

// StepStatus is the state of a step. A status page only shows it, so that a state which an older
// ingress does not know is no error.
type StepStatus string

// The states that a page words in its own way.
const (
	// StepPending has not begun.
	StepPending StepStatus = "pending"
	// StepWaiting asks a person, and waits for the answer.
	StepWaiting StepStatus = "waiting"
)

// RejectedRoute is a route that could not enter a table, and why.
type RejectedRoute struct {
	Host   string
	Reason error
}

// Table maps hosts to routes. It never changes once made, so any number of
// goroutines may ask it.
type Table struct {
	version  uint64
	gated    bool // some host asks for a pass
	routes   map[string]*Route
	rejected []RejectedRoute
	zones    map[string]*Zone
	// provisional tables may lack what exists: the one before the first, and one
	// of an earlier run that was saved.
	provisional bool
}

// NewTable builds a table of the routes that are sound. The others are left
// out, one by one, and can be read from Rejected: one bad route must not take
// the rest with it.
//
// When several routes claim one host, a deployment that is gone yields to one
// that is not, the later of two gone ones wins, and of two living ones the
// first stays and the second is rejected.
func NewTable(version uint64, routes []Route) *Table {
	t := &Table{version: version, routes: make(map[string]*Route, len(routes))}
	for i := range routes {
		r := routes[i]
		if err := t.insert(&r); err != nil {
			t.rejected = append(t.rejected, RejectedRoute{Host: r.Host, Reason: err})
		}
	}
	return t
}

func (t *Table) insert(r *Route) error {
	host, ok := Canonical(r.Host)
	if !ok {
		return fmt.Errorf("host %.80q is not a DNS name of labels of at most %d characters",
			r.Host, maxLabel)
	}
	r.Host = host
	if err := r.validate(); err != nil {
		return err
	}
	r.Detail, r.By = oneLine(r.Detail), oneLine(r.By)
	r.Permalink = webURLOrEmpty(r.Permalink)
	old, taken := t.routes[host]
	if taken && !old.State.isGone() {
		if r.State.isGone() {
			return nil // a tombstone under a living deployment: nothing to say
		}
		return fmt.Errorf("host %s already leads to deployment %s", host, old.DeploymentID)
	}
	if taken && r.State.isGone() && r.Since.Before(old.Since) {
		return nil
	}
	t.routes[host] = r
	return nil
}

func (r *Route) validate() error {
	if !r.State.isValid() {
		return fmt.Errorf("state %.40q is not known", string(r.State))
	}
	if r.State != StateReady {
		return nil // only its page is shown
	}
	if r.DeploymentID == "" {
		return errors.New("deployment_id is empty")
	}
	if r.Port < 1 || r.Port > 65535 {
		return fmt.Errorf("port %d is not between 1 and 65535", r.Port)
	}
	if r.Target == "" || len(r.Target) > 512 || strings.ContainsFunc(r.Target, isInvisible) {
		return fmt.Errorf("target %.80q is not 1 to 512 visible ASCII characters", r.Target)
	}
	return nil
}

// isInvisible keeps spaces and line ends out of a target, which a dialer
// writes into a header.
func isInvisible(c rune) bool { return c <= ' ' || c > '~' }

// maxDetail keeps a page a page, whatever a plugin said when it failed.
const maxDetail = 400

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.Map(replaceInvisible, s)), " ")
	for i := range s {
		if i > maxDetail {
			return s[:i] + "…"
		}
	}
	return s
}

// replaceInvisible turns control characters into spaces and drops format characters, which
// could display a sentence in a different order.
func replaceInvisible(c rune) rune {
	switch {
	case unicode.IsControl(c):
		return ' '
	case unicode.Is(unicode.Cf, c):
		return -1
	}
	return c
}

func webURLOrEmpty(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return s
}

// IsProvisional reports whether the table may lack what exists, because the source
// has not been read yet.
func (t *Table) IsProvisional() bool { return t.provisional }

// provisionalTable builds a table of an earlier run.
func provisionalTable(version uint64, routes []Route) *Table {
	t := NewTable(version, routes)
	t.provisional = true
	return t
}

// Version is the number the table was made with.
func (t *Table) Version() uint64 { return t.version }

// Len is how many hosts the table knows.
func (t *Table) Len() int { return len(t.routes) }

// RejectedRoutes lists the routes that were left out.
func (t *Table) RejectedRoutes() []RejectedRoute { return slices.Clone(t.rejected) }

// Routes lists the routes in the order of their hosts, as NewTable takes them.
func (t *Table) Routes() []Route {
	out := make([]Route, 0, len(t.routes))
	for _, r := range t.routes {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Route) int { return strings.Compare(a.Host, b.Host) })
	return out
}

// Match finds the route of a request's Host header, in any spelling that Canonical accepts.
func (t *Table) Match(host string) (Route, bool) {
	if r := t.match(host); r != nil {
		return *r, true
	}
	return Route{}, false
}

func (t *Table) match(host string) *Route {
	name, ok := Canonical(host)
	if !ok {
		return nil
	}
	return t.routes[name]
}

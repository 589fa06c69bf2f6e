package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/diagnose"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/controlplane/mails"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/notify"
	"github.com/nullops/nullops/controlplane/reach"
	"github.com/nullops/nullops/controlplane/review"
	"github.com/nullops/nullops/controlplane/sources"
	"github.com/nullops/nullops/controlplane/usage"
)

// Config is what New needs. Everything but Logs, UI, Metrics and Ready is
// required.
type Config struct {
	Accounts     *accounts.Accounts
	Catalog      *catalog.Catalog
	Nodes        *nodes.Nodes
	Certificates *certificates.Certificates
	Keys         *keyring.Keyring
	Lifecycle    *lifecycle.Lifecycle
	Logbook      *logbook.Logbook
	Audit        *audit.Log
	Usage        *usage.Usage
	Notify       *notify.Notifier
	Alerts       *alerts.Alerts
	Backups      *backup.Schedule
	Diagnosis    *diagnose.Diagnosis
	Reviews      *review.Reviews
	Sources      *sources.Sources
	Gate         *gate.Gate
	// Logs reads services' logs from nodes; nil if not available.
	Logs logbook.NodeLogs
	// Mails reads the mails of deployments; nil if not available.
	Mails *mails.Mails
	// Reach connects people to services; nil if not available. Idle is how long a
	// connection may be unused, DefaultIdle if zero.
	Reach *reach.Reach
	Idle  time.Duration
	// BodyIdle is how long a request's body may make no progress; zero means
	// DefaultBodyIdle.
	BodyIdle time.Duration
	// Upgrade has a node's agent replaced by one from an image; nil if not available.
	Upgrade func(ctx context.Context, node controlplane.NodeID, image string) error
	// GiveUpMachine tells a node that a machine of its cluster is gone; nil if not available.
	GiveUpMachine func(ctx context.Context, node controlplane.NodeID, machine string) (
		services int, err error)
	// Describe asks a node for all it knows about a deployment; nil if not available.
	Describe func(ctx context.Context, node controlplane.NodeID,
		deployment controlplane.DeploymentID) (lifecycle.DescribedDeployment, error)
	// Check has a node check what a deployment's plugins created; nil if not available.
	Check func(ctx context.Context, node controlplane.NodeID,
		deployment controlplane.DeploymentID) ([]controlplane.StepCheck, error)
	// HostKey asks a machine for its SSH host key; nil if not available.
	HostKey func(ctx context.Context, actor access.Actor, host string, port int) (
		kind, fingerprint string, err error)
	// Subscribe returns a channel that receives after a change of the topics, narrowed to
	// one key unless that is empty, and a function that ends the subscription. The channel
	// is ready once at the beginning.
	Subscribe func(key string, topics ...controlplane.Topic) (wake <-chan struct{}, stop func())
	// UI holds index.html and hashed files below assets/; nil serves no pages.
	UI fs.FS
	// Docs is the documentation site; nil or empty says how to build it.
	Docs fs.FS
	// OIDC vouches for people; nil leaves them to passwords.
	OIDC *accounts.Provider
	// AuditDays and RemovedDays are how long the audit and what was removed are kept; zero is for
	// ever. They are shown only.
	AuditDays, RemovedDays int
	// Proxies are the networks whose X-Forwarded-For is believed; from all others it
	// is ignored.
	Proxies []netip.Prefix
	// URL is where people reach the control plane. With https the cookie is bound to the host, and
	// responses carry HSTS, so that browsers stay with https.
	URL *url.URL
	// IngressURL has the scheme and port of deployments' URLs.
	IngressURL *url.URL
	// Fingerprint is that of our own certificate if no authority vouches for it, for machines that
	// enrol themselves, and agents that dial.
	Fingerprint string
	// Build is the release, for people.
	Build string
	// AgentImage is what the line for a new node runs; empty means
	// nullops/agent of our own release.
	AgentImage string
	Log        *slog.Logger
	// Metrics, if not nil, hears of each answered request. The operation is an
	// operationId of the contract, or "" for pages and unknown paths.
	Metrics func(ctx context.Context, operation string, status int, took time.Duration)
	// Ready returns what is not ready, for /readyz; nil means always ready.
	Ready func(context.Context) []PendingDependency
}

// server implements the contract. Each method translates between the contract
// and one use case.
type server struct {
	Config
	logs   *logbook.Reader
	secure bool
	origin string
	// schemas are the contract's.
	schemas openapi3.Schemas
}

var _ StrictServerInterface = (*server)(nil)

// New returns the handler of everything the control plane serves: the API below /api/,
// /healthz, /readyz, and the pages.
//
// A request passes, in this order: trusted proxies, request ID, access log, panic
// recovery, security headers, idle body limit, origin check; then, once its operation
// is known, authentication, authorization, and validation against the contract.
func New(c Config) (http.Handler, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &server{
		Config: c, logs: newLogReader(c), secure: c.URL.Scheme == "https",
		origin: c.URL.Scheme + "://" + c.URL.Host,
	}
	doors, err := newDoors(s)
	if err != nil {
		return nil, err
	}
	described, err := loadReference()
	if err != nil {
		return nil, err
	}
	c.Sources.ApplyWith(s.applySourceDocuments)
	all := topLevelHandler{api: s.sameOrigin(described.wrapHandler(doors)), hooks: c.Reviews,
		sources: c.Sources,
		probes: NewProbeHandler(
			c.Ready,
		), pages: s.withPlainPages(newPages(c.UI)), oidc: http.HandlerFunc(s.serveOIDC),
		docs: NewDocs(c.Docs)}
	return s.believeProxies(
		s.withRequestID(s.withAccessLog(s.withRecovery(s.withSecurityHeaders(s.limitIdleBodies(all))))),
	), nil
}

// topLevelHandler routes to the API, the probes and the pages. http.ServeMux is not used because
// it redirects unclean paths instead of refusing them.
type topLevelHandler struct{ api, hooks, sources, probes, pages, oidc, docs http.Handler }

func (p topLevelHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		p.api.ServeHTTP(w, r)
	case strings.HasPrefix(path, sources.HookPath):
		p.sources.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/hooks/"):
		p.hooks.ServeHTTP(w, r)
	case path == "/healthz" || path == "/readyz":
		p.probes.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/oidc/"):
		p.oidc.ServeHTTP(w, r)
	case isDocs(path):
		p.docs.ServeHTTP(w, r)
	default:
		p.pages.ServeHTTP(w, r)
	}
}

func (c *Config) check() error {
	var errs []error
	need := func(ok bool, name string) {
		if !ok {
			errs = append(errs, fmt.Errorf("api: %s is missing", name))
		}
	}
	need(c.Accounts != nil, "Accounts")
	need(c.Catalog != nil, "Catalog")
	need(c.Nodes != nil, "Nodes")
	need(c.Certificates != nil, "Certificates")
	need(c.Keys != nil, "Keys")
	need(c.Lifecycle != nil, "Lifecycle")
	need(c.Logbook != nil, "Logbook")
	need(c.Gate != nil, "Gate")
	need(c.Sources != nil, "Sources")
	need(c.Subscribe != nil, "Subscribe")
	need(c.URL != nil && c.URL.Host != "", "URL")
	need(c.IngressURL != nil, "IngressURL")
	need(c.Log != nil, "Log")
	return errors.Join(errs...)
}

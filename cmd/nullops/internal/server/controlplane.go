package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/controlplane/mails"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/notify"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/reach"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/controlplane/review"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/controlplane/sources"
	"github.com/nullops/nullops/controlplane/usage"
	"github.com/nullops/nullops/controlplane/vault"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/script"
	"github.com/nullops/nullops/ui"
)

func controlplaneCommand() *cobra.Command {
	return serverCommand("controlplane", "Run the control plane: API, UI, and links to the nodes",
		Settings.checkControlPlane, func(ctx context.Context, s Settings, log *slog.Logger) error {
			b, err := openBase(ctx, s, log, true)
			if err != nil {
				return err
			}
			defer b.close()
			paceCollector(ctx, controlPlaneGarbage)
			return b.run(ctx, b.controlPlane)
		})
}

func ingressCommand() *cobra.Command {
	return serverCommand("ingress", "Run the ingress: where deployments answer",
		Settings.checkIngress, func(ctx context.Context, s Settings, log *slog.Logger) error {
			asked := awaitReplacementSignal()
			b, err := openIngress(ctx, s, log)
			if err != nil {
				return err
			}
			defer b.close()
			ctx, retire := context.WithCancel(ctx)
			defer retire()
			if err := b.prepareReplacement(asked, retire); err != nil {
				return err
			}
			b.routed = new(atomic.Bool)
			paceCollector(ctx, ingressGarbage)
			return b.run(ctx, b.serveIngress)
		})
}

// serverBase is what control plane and ingress are both built on, bottom-up.
type serverBase struct {
	settings Settings
	log      *slog.Logger
	store    *postgres.Store
	// watch are connections of its own for alerts, see watchConnections.
	watch        *postgres.Store
	listener     *postgres.Listener
	keys         *keyring.Keyring
	catalog      *catalog.Catalog
	nodes        *nodes.Nodes
	certificates *certificates.Certificates
	lifecycle    *lifecycle.Lifecycle
	usage        *usage.Usage
	gate         *gate.Gate
	audit        *audit.Log
	images       *registry.Client
	ingress      *url.URL
	nodeTable    fleet.NodeTable
	identity     *wire.Identity
	dialing      fleet.DialSettings
	dialer       *fleet.Dialer
	notify       *notify.Notifier
	alerts       *alerts.Alerts
	reviews      *review.Reviews
	sources      *sources.Sources
	backups      *backup.Schedule
	metrics      *metrics
	// vault is nil without one.
	vault *vault.Client
	// ingressKeys is nil unless the ingress has keys of its own.
	ingressKeys *keyring.IngressKeyring
	// fail is for tests only.
	fail failpoint.Hook
	// routed is set once the ingress has a route table; nil without an ingress.
	routed *atomic.Bool
	// replacement is nil for servers that cannot be replaced while they serve.
	replacement *replacement
}

// openBase opens the database, brings its schema up to date, and proves that
// the sealing key is the one its secrets were sealed with. Before that it may wait for
// Vault; serveAPI says whether the API's address answers meanwhile.
func openBase(
	ctx context.Context, s Settings, log *slog.Logger, serveAPI bool,
) (*serverBase, error) {
	keys, err := awaitSealingKeys(ctx, s, log, serveAPI)
	if err != nil {
		return nil, err
	}
	ingress, err := url.Parse(s.Ingress.URL)
	if err != nil {
		return nil, fmt.Errorf("setting ingress.url: %w", err)
	}
	store, err := postgres.Open(ctx, postgres.Config{URL: s.Database.URL,
		Trace: s.tracing != nil})
	if err != nil {
		return nil, fmt.Errorf("setting database.url: %w", err)
	}
	b := &serverBase{settings: s, log: log, store: store,
		listener: postgres.NewListener(store, logs.Of(log, "database")),
		ingress:  ingress, metrics: newMetrics(), vault: keys.vault,
		fail: failpoint.FromEnv(os.Getenv("NULLOPS_FAILPOINT"))}
	if err := b.buildServices(ctx, keys.ring, ingress); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *serverBase) close() {
	if b.images != nil {
		b.images.Close()
	}
	if b.watch != nil {
		b.watch.Close()
	}
	b.store.Close()
}

func (b *serverBase) buildServices(
	ctx context.Context,
	keys *seal.Keyring,
	ingress *url.URL,
) error {
	if err := migrateAtStart(ctx, b.store, b.settings); err != nil {
		return err
	}
	setup := access.System("setup")
	b.keys = keyring.New(b.store, keys, b.logOf("keyring"))
	b.keys.Used = b.metrics.keyUsed
	if err := b.keys.CheckKeys(ctx, setup); err != nil {
		return err
	}
	auditKey, err := b.keys.AuditKey(ctx, setup)
	if err != nil {
		return err
	}
	b.store.ChainAudit(auditKey)
	b.audit = audit.New(b.store, auditKey)
	if b.identity, err = b.openIdentity(ctx); err != nil {
		return err
	}
	own := newOwnAddresses(b.settings).contains
	b.images = registry.New(registry.Config{Own: own, Called: b.metrics.registryCall})
	b.catalog = catalog.New(catalog.Config{Store: b.store, Keys: b.keys, Images: b.images,
		Scripts: &script.Runner{},
		Vault:   b.newVaultSecrets(),
		UIHost:  b.settings.HTTP.hostname(), Shared: b.settings.Ingress.Shared,
		Log: b.logOf("catalog")})
	b.nodes = nodes.New(nodes.Config{Store: b.store, Keys: b.keys, IssueToken: b.issueToken,
		AllowLoopback: b.settings.HTTP.isLoopback(), Deny: own})
	b.certificates = certificates.New(certificates.Config{Store: b.store, Keys: b.keys})
	b.usage = usage.New(b.store, b.logOf("usage"))
	b.gate = gate.New(b.store, nil)
	b.lifecycle = lifecycle.New(lifecycle.Config{Store: b.store, Catalog: b.catalog, Keys: b.keys,
		IngressURL: ingress, Log: b.logOf("lifecycle"), Failpoint: b.fail,
		StepEnded:   b.metrics.stepEnded,
		Refused:     b.metrics.nodeRefused,
		KeepRemoved: time.Duration(b.settings.Removed.Keep) * 24 * time.Hour})
	b.notify, b.reviews = b.newNotifier(own), b.newReviewer(own)
	b.sources = b.newSources(own)
	if b.watch, err = b.store.OpenApart(ctx, watchConnections); err != nil {
		return err
	}
	b.alerts = b.newAlerts()
	if b.backups, err = b.newBackupSchedule(keys); err != nil {
		return err
	}
	towards, err := b.openIngressIdentity(ctx)
	if err != nil {
		return err
	}
	b.nodeTable = fleet.NodeTable{Store: b.store, OpenKey: b.keys.OpenNodeKey,
		Holder: leaseHolder()}
	b.dialing = fleet.DialSettings{
		Identity: b.identity,
		Ingress:  towards,
		Build:    wire.Build(release),
		Standbys: fleet.NewStandbys(b.nodeTable, towards, b.logOf("fleet")),
		Connect:  b.connectNode,
	}
	b.dialer = fleet.NewDialer(b.nodeTable, b.dialing)
	b.metrics.watchPool(b.store)
	b.metrics.watchListener(b.listener)
	b.metrics.watchOutput(b.settings)
	return nil
}

// logOf is the log of one component.
func (b *serverBase) logOf(component string) *slog.Logger {
	return logs.Of(b.log, component)
}

// run starts what every process has, then the given part; the first to fail
// stops the others.
func (b *serverBase) run(ctx context.Context, parts ...func(context.Context) error) error {
	door, err := b.listenMetrics()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return ignoreCanceled(b.listener.Run(ctx)) })
	if b.images != nil {
		group.Go(func() error { return b.images.Run(ctx) })
	}
	if b.vault != nil {
		group.Go(func() error { return ignoreCanceled(b.vault.Run(ctx)) })
	}
	group.Go(func() error {
		return b.metrics.serve(ctx, door, api.NewProbeHandler(b.readinessProblems), b.log)
	})
	for _, part := range parts {
		group.Go(func() error { return ignoreCanceled(part(ctx)) })
	}
	return group.Wait()
}

// ignoreCanceled turns a stop that was asked for into success.
func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// warnOfDoors logs what is unsafe about how people reach the control plane.
func (b *serverBase) warnOfDoors(ctx context.Context, plain, knowsProxies bool) {
	if b.settings.HTTP.behindProxy() && !knowsProxies {
		b.log.WarnContext(ctx, "http.proxies is not set: all people behind the proxy share its "+
			"address, and with it the limits of failed sign-ins; name the proxy there")
	}
	if plain && !loopbackListen(b.settings.HTTP.Listen) {
		b.log.WarnContext(ctx, "plain HTTP on "+b.settings.HTTP.Listen+": let nobody but a proxy "+
			"of yours or this machine reach it, or set http.url to https://")
	}
}

// controlPlane serves API and UI, and keeps the sessions with the nodes.
func (b *serverBase) controlPlane(ctx context.Context) error {
	b.metrics.watchState(b.store)
	if err := b.catalog.CheckDomains(ctx, access.System("setup")); err != nil {
		return err
	}
	home, err := url.Parse(b.settings.HTTP.URL)
	if err != nil {
		return fmt.Errorf("setting http.url: %w", err)
	}
	people, err := accounts.New(accounts.Config{Store: b.store, Log: b.logOf("accounts"), Keys: b.keys,
		URL:   home,
		Mails: b.settings.Mail.Server != "", Breached: b.settings.Passwords.Breached,
		SecondFactor: accounts.FactorRule(b.settings.Passwords.SecondFactor)})
	if err != nil {
		return err
	}
	if err := b.firstAdmin(ctx, people); err != nil {
		return err
	}
	lines := logbook.New(b.store)
	proxies, err := parseProxies("http.proxies", b.settings.HTTP.Proxies)
	if err != nil {
		return err
	}
	handler, err := b.newHandler(people, lines, proxies)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", b.settings.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("setting http.listen: %w", err)
	}
	limit := newConnectionLimit(b.settings.HTTP.Connections, proxies)
	ordered := &orderedCertificate{host: b.settings.HTTP.hostname()}
	l, print, err := b.settings.HTTP.secureListener(limit.limitListener(l), ordered)
	if err != nil {
		return err
	}
	b.log.InfoContext(ctx, "control plane", "url", b.settings.HTTP.URL, "build", release,
		"fingerprint", print)
	b.warnOfDoors(ctx, print == "", len(proxies) > 0)
	machines := fleet.New(fleet.Config{Nodes: b.nodeTable, Secrets: secrets{b.catalog},
		Lifecycle: b.lifecycle, Logbook: lines, Usage: b.usage, Journal: b.audit,
		Listener: b.listener, Dial: b.dialing,
		Holder: b.nodeTable.Holder, Dialed: b.metrics.nodeDialed, Ended: b.metrics.sessionEnded,
		Log: b.logOf("fleet"), Failpoint: b.fail})
	b.metrics.watchLinks(machines)
	setup, err := b.newProvisioner()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	chores := jobs.New(b.store, b.logOf("jobs"), b.backgroundJobs(people)...)
	chores.Ran = b.metrics.jobRan
	group.Go(func() error { return b.announceStandbys(ctx) })
	group.Go(func() error { return machines.Run(ctx) })
	group.Go(func() error { return chores.Run(ctx) })
	group.Go(func() error { return b.runNotifications(ctx) })
	group.Go(func() error { return b.runAlerts(ctx) })
	group.Go(func() error { return b.runBackups(ctx) })
	group.Go(func() error { return b.tellAlive(ctx, controlplane.RoleControlPlane) })
	group.Go(func() error { return b.runReviews(ctx) })
	group.Go(func() error { return b.sources.Run(ctx) })
	group.Go(func() error { return b.orderCertificates(ctx) })
	group.Go(func() error { return b.publishCertificates(ctx) })
	group.Go(func() error { return b.serveOrdered(ctx, ordered) })
	group.Go(func() error { return setup.Run(ctx) })
	group.Go(func() error { return b.usage.Run(ctx) })
	moves := jobs.Relocator{Deployments: b.lifecycle, Volumes: b.dialer, Holder: b.nodeTable.Holder,
		Log: b.logOf("jobs")}
	group.Go(func() error { return moves.Run(ctx) })
	group.Go(func() error {
		return jobs.Queue(ctx, b.lifecycle, b.store, b.listener, b.logOf("jobs"))
	})
	group.Go(func() error { b.verifyAudit(ctx); return nil })
	group.Go(func() error {
		return serveHTTP(ctx, &http.Server{Handler: b.serveStandbys(b.traceRequests(handler)),
			ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 75 * time.Second,
			MaxHeaderBytes: 64 << 10, ConnState: limit.trackState}, l)
	})
	return group.Wait()
}

// verifyAudit does it at each start, whenever the job did last. Its findings are no reason to end:
// they are logged, and the job tells webhooks.
func (b *serverBase) verifyAudit(ctx context.Context) {
	err := jobs.VerifyAudit(b.audit, b.logOf("jobs")).Do(ctx)
	if err != nil && ctx.Err() == nil {
		b.log.WarnContext(ctx, "the audit does not verify", "error", err)
	}
}

// traceRequests traces the requests of people and programs. Pages, probes and streams are left
// out: a stream lasts for as long as somebody looks at a page.
func (b *serverBase) traceRequests(handler http.Handler) http.Handler {
	return b.settings.tracing.Handler(handler, func(r *http.Request) bool {
		return (strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/hooks/")) &&
			!strings.HasSuffix(r.URL.Path, "/events") && r.Header.Get("Upgrade") == ""
	})
}

// backgroundJobs is what the control plane does by itself.
func (b *serverBase) backgroundJobs(people *accounts.Accounts) []jobs.Job {
	log := b.logOf("jobs")
	all := []jobs.Job{
		jobs.ForgetSessions(people), jobs.ForgetKeys(b.store), jobs.ForgetOffers(b.lifecycle, log),
		jobs.Expire(b.lifecycle, b.store, log), jobs.NoticeExpiry(b.lifecycle),
		jobs.ForgetRemoved(b.lifecycle, log), jobs.FinishMoves(b.lifecycle, log),
		jobs.AttachVerdicts(b.lifecycle),
		jobs.VerifyAudit(b.audit, log),
		jobs.TrimUsage(b.usage, log), jobs.ForgetPasses(b.gate),
		jobs.ForgetVisitors(b.lifecycle),
		jobs.WriteLedger(b.usage, log), jobs.CheckBudgets(b.usage, b.lifecycle, log),
		jobs.MeasureVolumes(b.usage, b.lifecycle, b.dialer, log),
	}
	if b.settings.tracing != nil {
		all = append(all, jobs.TraceRuns(b.store))
	}
	if days := b.settings.Audit.Keep; days > 0 {
		all = append(all, jobs.CutAudit(b.audit, time.Duration(days)*24*time.Hour, log))
	}
	return all
}

func (b *serverBase) newHandler(
	people *accounts.Accounts, lines *logbook.Logbook, proxies []netip.Prefix,
) (http.Handler, error) {
	public, err := url.Parse(b.settings.HTTP.URL)
	if err != nil {
		return nil, fmt.Errorf("setting http.url: %w", err)
	}
	print, err := b.settings.HTTP.selfSignedFingerprint()
	if err != nil {
		return nil, err
	}
	return api.New(api.Config{Accounts: people, Catalog: b.catalog, Nodes: b.nodes,
		Certificates: b.certificates, Keys: b.keys, Lifecycle: b.lifecycle,
		Logbook: lines, Usage: b.usage, Notify: b.notify, Alerts: b.alerts, Backups: b.backups,
		Reviews: b.reviews, Sources: b.sources, Audit: b.audit, Gate: b.gate,
		Logs:      serviceLogs{b.dialer},
		Diagnosis: b.newDiagnosis(controlplane.RoleControlPlane),
		Reach:     reach.New(b.store, b.dialer),
		Mails:     mails.New(b.store, b.dialer),
		Check:     b.dialer.Check,
		Describe:  b.dialer.Describe, Upgrade: b.upgradeAgent,
		GiveUpMachine: b.dialer.GiveUpMachine,
		Subscribe:     b.subscribeTopics, UI: ui.Files(), Docs: ui.Docs(),
		HostKey:   b.hostKey,
		OIDC:      b.settings.OIDC.newProvider(b.settings.HTTP.URL),
		AuditDays: b.settings.Audit.Keep, RemovedDays: b.settings.Removed.Keep,
		Proxies: proxies, Fingerprint: print,
		URL: public, IngressURL: b.ingress, Build: release, AgentImage: b.settings.HTTP.AgentImage,
		Log:     b.logOf("api"),
		Metrics: b.metrics.apiRequest, Ready: b.readinessProblems})
}

// subscribeTopics connects the API to database notifications without a dependency.
func (b *serverBase) subscribeTopics(
	key string, topics ...controlplane.Topic,
) (wake <-chan struct{}, stop func()) {
	heard := b.listener.Subscribe(key, topics...)
	return heard.Wake, heard.Close
}

// readinessProblems returns what the control plane needs and does not have yet.
func (b *serverBase) readinessProblems(ctx context.Context) []api.PendingDependency {
	if err := b.store.Ping(ctx); err != nil {
		return []api.PendingDependency{{For: "database", Reason: err.Error()}}
	}
	var all []api.PendingDependency
	if !b.listener.IsListening() {
		all = append(all, api.PendingDependency{For: "events",
			Reason: "the database's notifications are not heard yet: changes would show late"})
	}
	if b.routed != nil && !b.routed.Load() {
		all = append(all, api.PendingDependency{For: "routes",
			Reason: "the routing table has not been read yet"})
	}
	return all
}

// firstAdmin prints the first admin's password, once and not into the log.
func (b *serverBase) firstAdmin(ctx context.Context, people *accounts.Accounts) error {
	password, created, err := people.EnsureFirstAdmin(ctx, access.System("setup"), "admin")
	if err != nil || !created {
		return err
	}
	fmt.Fprintf(os.Stdout, "\nFirst admin: user admin, password %s\n"+
		"It is shown only now. Sign in at %s and change it.\n\n", password.Reveal(),
		b.settings.HTTP.URL)
	return nil
}

// leaseHolder names this process in leases.
func leaseHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString())
}

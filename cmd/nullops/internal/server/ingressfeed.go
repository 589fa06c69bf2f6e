package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/ingress"
)

// frontTick is how soon a withdrawal or a certificate is seen whose wake-up was
// lost.
const frontTick = 5 * time.Second

var ingressTask = access.System("ingress")

// gatekeeperClient is the gate as the ingress asks it.
type gatekeeperClient struct {
	gate *gate.Gate
	// used takes ids of passes; a full one loses a note of use and nothing else.
	used chan string
	// visited takes ids of deployments. A lost visit is followed by another.
	visited chan string
	// present says who is where. One that is lost is followed by another.
	present chan ingress.Presence
	// process tells the counts of several ingresses apart.
	process string
	lives   *lifecycle.Lifecycle
}

func newGatekeeperClient(g *gate.Gate, lives *lifecycle.Lifecycle) *gatekeeperClient {
	return &gatekeeperClient{gate: g, lives: lives, used: make(chan string, 64),
		visited: make(chan string, 1024), present: make(chan ingress.Presence, 1024),
		process: rand.Text()}
}

var _ ingress.Gatekeeper = (*gatekeeperClient)(nil)

// PassScopes implements ingress.Gatekeeper.
func (k *gatekeeperClient) PassScopes(
	ctx context.Context, hashes [][sha256.Size]byte,
) (map[[sha256.Size]byte]ingress.PassScope, error) {
	all := make([][]byte, len(hashes))
	for i := range hashes {
		all[i] = hashes[i][:]
	}
	held, err := k.gate.CheckHashes(ctx, ingressTask, all)
	if err != nil {
		return nil, err
	}
	out := make(map[[sha256.Size]byte]ingress.PassScope, len(held))
	for _, h := range held {
		out[h.Hash] = ingress.PassScope{ID: string(h.ID), Deployment: string(h.Deployment),
			Environment: string(h.Environment), Guest: h.Kind == controlplane.PassGuest,
			Full: h.Full, Until: h.ExpiresAt}
	}
	return out, nil
}

// RedeemCode implements ingress.Gatekeeper.
func (k *gatekeeperClient) RedeemCode(
	ctx context.Context, host, brought string,
) (secret string, until time.Time, ok bool, err error) {
	pass, until, ok, err := k.gate.Redeem(ctx, ingressTask, host, controlplane.NewPlain(brought))
	return pass.Reveal(), until, ok, err
}

// RecordUse implements ingress.Gatekeeper.
func (k *gatekeeperClient) RecordUse(id string) {
	select {
	case k.used <- id:
	default:
	}
}

// answerChallenge returns a host's answer to an ACME challenge.
func (b *serverBase) answerChallenge(
	ctx context.Context, host, token string,
) (answer string, ok bool, err error) {
	return b.certificates.ACMEAnswer(ctx, ingressTask, host, token)
}

// recordVisit is called by the ingress when a deployment is used. It drops the event
// if the queue is full.
func (k *gatekeeperClient) recordVisit(deployment string) {
	select {
	case k.visited <- deployment:
	default:
	}
}

// recordPresence is called by the ingress for those who are at deployments. It drops the event if
// the queue is full.
func (k *gatekeeperClient) recordPresence(p ingress.Presence) {
	select {
	case k.present <- p:
	default:
	}
}

// storeUses writes down when passes and deployments were used, and by whom lately.
func (k *gatekeeperClient) storeUses(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-k.used:
			if err := k.gate.TouchPass(ctx, ingressTask, controlplane.PassID(id)); err != nil {
				log.DebugContext(ctx, "use of a pass not noted", "error", err)
			}
		case id := <-k.visited:
			err := k.lives.RecordVisit(ctx, ingressTask, controlplane.DeploymentID(id))
			if err != nil {
				log.WarnContext(ctx, "visit not noted", "deployment_id", id, "error", err)
			}
		case p := <-k.present:
			err := k.lives.RecordPresence(ctx, ingressTask, controlplane.PresenceReport{
				Deployment: controlplane.DeploymentID(p.DeploymentID),
				Pass:       controlplane.PassID(p.PassID), Visitors: p.Visitors, Ingress: k.process})
			if err != nil {
				log.WarnContext(ctx, "presence not noted", "deployment_id", p.DeploymentID,
					"error", err)
			}
		}
	}
}

// ingressFeed keeps up to date what the ingress needs besides its route table: which
// passes are valid, and the certificates.
type ingressFeed struct {
	certificates certificateSource
	listener     *postgres.Listener
	log          *slog.Logger
	shown        *ingress.Certificates // nil without HTTPS
	last         []string              // what the shown certificates were made of
	read         chan struct{}         // closed when certificates were read, or could not be
}

// recheckPasses ends connections whose pass is no longer valid.
func (f *ingressFeed) recheckPasses(ctx context.Context, proxy *ingress.Proxy) {
	wake := f.listener.Subscribe("", controlplane.TopicAccess)
	defer wake.Close()
	f.repeatOnWake(ctx, wake.Wake, func() {
		if err := proxy.RecheckPasses(ctx); err != nil && ctx.Err() == nil {
			f.log.WarnContext(ctx, "passes not checked again", "error", err)
		}
	})
}

// watchCertificates loads the catalogue's certificates whenever they change.
func (f *ingressFeed) watchCertificates(ctx context.Context) {
	wake := f.listener.Subscribe("", controlplane.TopicCatalog)
	defer wake.Close()
	read := sync.OnceFunc(func() { close(f.read) })
	f.repeatOnWake(ctx, wake.Wake, func() {
		if err := f.loadCertificates(ctx); err != nil && ctx.Err() == nil {
			f.log.WarnContext(ctx, "certificates not read, keeping the last ones", "error", err)
		}
		read()
	})
}

func (f *ingressFeed) repeatOnWake(ctx context.Context, wake <-chan struct{}, do func()) {
	ticker := time.NewTicker(frontTick)
	defer ticker.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-ticker.C:
		}
	}
}

// loadCertificates opens keys only when certificates changed: each opening is an entry of
// the audit.
func (f *ingressFeed) loadCertificates(ctx context.Context) error {
	now, err := f.certificates.listFingerprints(ctx)
	if err != nil || f.last != nil && reflect.DeepEqual(now, f.last) {
		return err
	}
	var given []tls.Certificate
	var issuer *ingress.Issuer
	if len(now) > 0 {
		if given, issuer, err = f.openCertificates(ctx); err != nil {
			return err
		}
	}
	f.shown.Set(given, issuer)
	f.last = now
	f.log.InfoContext(ctx, "certificates", "count", len(given), "authority", issuer != nil)
	return nil
}

// openCertificates leaves out what is damaged.
func (f *ingressFeed) openCertificates(
	ctx context.Context,
) ([]tls.Certificate, *ingress.Issuer, error) {
	all, err := f.certificates.openServed(ctx)
	if err != nil {
		return nil, nil, err
	}
	given := make([]tls.Certificate, 0, len(all.Given))
	for _, c := range all.Given {
		pair, err := ingress.ParseKeyPair(c.Chain, c.Key)
		if err != nil {
			f.log.WarnContext(ctx, "certificate left out", "certificate", c.Name, "error", err)
			continue
		}
		given = append(given, pair)
	}
	if all.Authority == nil {
		return given, nil, nil
	}
	issuer, err := ingress.NewIssuer(all.Authority.Chain, all.Authority.Key)
	return given, issuer, err
}

// secureAddress returns the HTTPS address of a host: with the port of the ingress URL
// if that is HTTPS, else with the port we listen on.
func (s IngressSettings) secureAddress() func(host string) string {
	if s.Secure == "" {
		return nil
	}
	port := ""
	if _, listened, err := net.SplitHostPort(s.Secure); err == nil && listened != "443" {
		port = ":" + listened
	}
	if u, err := url.Parse(s.URL); err == nil && u.Scheme == "https" {
		port = ""
		if u.Port() != "" && u.Port() != "443" {
			port = ":" + u.Port()
		}
	}
	return func(host string) string { return "https://" + host + port }
}

// openListeners opens the plain port and, if there is one, that of HTTPS.
func (b *serverBase) openListeners() (plain, secure net.Listener, err error) {
	s := b.settings.Ingress
	if plain, err = b.listen("plain", s.Listen); err != nil {
		return nil, nil, fmt.Errorf("setting ingress.listen: %w", err)
	}
	if s.Secure == "" {
		return plain, nil, nil
	}
	if secure, err = b.listen("secure", s.Secure); err != nil {
		_ = plain.Close()
		return nil, nil, fmt.Errorf("setting ingress.secure: %w", err)
	}
	return plain, secure, nil
}

// mostConnections is what the limit on open files leaves for clients: each has a
// connection to a service besides its own, and the process needs some files.
func mostConnections() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 4096
	}
	return int(max(256, min(files.Cur, 1<<20)/2-128))
}

// toZones are the environments' parts of the name space, for the table.
func toZones(all []controlplane.Zone) []ingress.Zone {
	out := make([]ingress.Zone, len(all))
	for i, z := range all {
		out[i] = ingress.Zone{Suffix: z.Name + "." + z.Domain, Environment: z.Name,
			EnvironmentID: string(z.Environment), Gate: gateOf(z.Gate),
			RedirectHTTPS: z.RedirectHTTPS}
	}
	return out
}

// addFormerZones adds zones for the hosts from before an environment's domain changed.
// Deployments keep their hosts until they are recreated, and until then the
// environment's gate and redirect apply to them too.
func addFormerZones(all []ingress.Zone, routes []controlplane.Route) []ingress.Zone {
	known, by := map[string]bool{}, map[string]ingress.Zone{}
	for _, z := range all {
		known[z.Suffix], by[z.Environment] = true, z
	}
	for _, r := range routes {
		z, ok := by[r.Environment]
		suffix := suffixOf(r)
		if !ok || suffix == "" || known[suffix] {
			continue
		}
		known[suffix], z.Suffix = true, suffix
		all = append(all, z)
	}
	return all
}

// suffixOf is the environment's part of a host, in the dotted and the flat form.
func suffixOf(r controlplane.Route) string {
	for _, between := range []string{".", "--"} {
		_, domain, ok := strings.Cut("."+r.Host, between+r.Name+between+r.Environment+".")
		if ok {
			return r.Environment + "." + domain
		}
	}
	return ""
}

func gateOf(m controlplane.GateMode) ingress.Gate {
	if m == controlplane.GateOpen {
		return ingress.GateOpen
	}
	return ingress.Gate(m)
}

func stepsOf(all []controlplane.StartingStep) []ingress.Step {
	var out []ingress.Step
	for _, s := range all {
		out = append(out, ingress.Step{Title: s.Title, Status: ingress.StepStatus(s.Status)})
	}
	return out
}

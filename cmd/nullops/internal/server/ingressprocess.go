package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/wait"
)

// identityPause is how soon an ingress looks again for what the control plane makes for it.
const identityPause = time.Second

// openIngress opens what an ingress needs. With keys of its own it holds no master key, no key
// of the audit and not the control plane's identity, and it changes no schema.
func openIngress(ctx context.Context, s Settings, log *slog.Logger) (*serverBase, error) {
	if s.Ingress.Keys == "" {
		log.WarnContext(ctx, "the ingress holds the master key: give it keys of its own, see "+
			"ingress.keys in docs/ingress.md")
		return openBase(ctx, s, log, false)
	}
	if s.Master.Keys != "" || s.Vault.holdsKeys() {
		log.WarnContext(ctx, "the ingress has keys of its own and does not use the master key: "+
			"leave out the settings master and vault")
	}
	at, err := url.Parse(s.Ingress.URL)
	if err != nil {
		return nil, fmt.Errorf("setting ingress.url: %w", err)
	}
	ring, err := seal.ParseKeyring(s.Ingress.Keys)
	if err != nil {
		return nil, fmt.Errorf("setting ingress.keys: %w", err)
	}
	store, err := postgres.Open(ctx, postgres.Config{URL: s.Database.URL})
	if err != nil {
		return nil, fmt.Errorf("setting database.url: %w", err)
	}
	b := &serverBase{settings: s, log: log, store: store, ingress: at,
		listener:    postgres.NewListener(store, logs.Of(log, "database")),
		metrics:     newMetrics(),
		fail:        failpoint.FromEnv(os.Getenv("NULLOPS_FAILPOINT")),
		ingressKeys: keyring.NewIngressKeyring(store, ring)}
	if err := b.buildIngress(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *serverBase) buildIngress(ctx context.Context) (err error) {
	if b.identity, err = b.awaitIngressIdentity(ctx); err != nil {
		return err
	}
	if b.watch, err = b.store.OpenApart(ctx, watchConnections); err != nil {
		return err
	}
	b.nodes = nodes.New(nodes.Config{Store: b.store, AllowLoopback: b.settings.HTTP.isLoopback(),
		Deny: newOwnAddresses(b.settings).contains})
	b.certificates = certificates.New(certificates.Config{Store: b.store})
	b.gate = gate.New(b.store, nil)
	b.lifecycle = lifecycle.New(lifecycle.Config{Store: b.store, IngressURL: b.ingress,
		Log: b.logOf("lifecycle"), Failpoint: b.fail})
	b.nodeTable = fleet.NodeTable{Store: b.store, Holder: leaseHolder(),
		DeriveKey: func(kid string) []byte { return b.identity.TunnelKey(kid).Bytes() }}
	b.dialing = fleet.DialSettings{Identity: b.identity, Build: wire.Build(release),
		Standbys: fleet.NewStandbys(b.nodeTable, nil, b.logOf("fleet")), Connect: b.connectNode}
	b.dialer = fleet.NewDialer(b.nodeTable, b.dialing)
	b.metrics.watchPool(b.store)
	b.metrics.watchListener(b.listener)
	b.metrics.watchOutput(b.settings)
	return nil
}

// awaitIngressIdentity waits for the control plane, which brings the schema up to date and
// makes the identity: both may start at the same time.
func (b *serverBase) awaitIngressIdentity(ctx context.Context) (*wire.Identity, error) {
	for {
		text, err := b.ingressKeys.OpenIdentity(ctx, ingressTask)
		if err == nil {
			return wire.ParseIdentity(text)
		}
		b.log.WarnContext(ctx, "waiting for the control plane, which gives the ingress its "+
			"identity: check that it runs with the same ingress.keys, and that the migrations "+
			"granted ingress.role its rights", "error", err.Error())
		if err := wait.Sleep(ctx, identityPause); err != nil {
			return nil, err
		}
	}
}

// openIngressIdentity returns the identity that the ingress shows to agents, and has it made at
// the first start; nil if the ingress has no keys of its own.
func (b *serverBase) openIngressIdentity(ctx context.Context) (*wire.Identity, error) {
	if b.settings.Ingress.Keys == "" {
		return nil, nil
	}
	ring, err := seal.ParseKeyring(b.settings.Ingress.Keys)
	if err != nil {
		return nil, fmt.Errorf("setting ingress.keys: %w", err)
	}
	b.ingressKeys = keyring.NewIngressKeyring(b.store, ring)
	text, err := b.ingressKeys.LoadOrCreateIdentity(ctx, access.System("setup"),
		func() ([]byte, error) {
			i, err := wire.NewIdentity("nullops ingress")
			if err != nil {
				return nil, err
			}
			return i.PEM(), nil
		})
	if err != nil {
		return nil, err
	}
	return wire.ParseIdentity(text)
}

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/controlplane/vault"
	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/wait"
)

// maxVaultPause is the longest pause between attempts to reach Vault at the start.
const maxVaultPause = 15 * time.Second

// sealingKeys is what secrets are sealed with, and the client of Vault if there is one.
type sealingKeys struct {
	ring  *seal.Keyring
	vault *vault.Client
}

// openSealingKeys makes the key ring of the settings. It fails with seal.ErrUnavailable
// while keys are in Vault and Vault does not answer.
func openSealingKeys(ctx context.Context, s Settings, log *slog.Logger) (k sealingKeys, err error) {
	if k.vault, err = newVaultClient(s.Vault, log); err != nil {
		return k, err
	}
	return k, k.open(ctx, s)
}

// newVaultClient is nil without an address.
func newVaultClient(v VaultSettings, log *slog.Logger) (*vault.Client, error) {
	if v.Address == "" {
		return nil, nil
	}
	c, err := vault.New(vault.Config{Address: v.Address, Namespace: v.Namespace, CAFile: v.CA,
		Auth: v.auth(), Log: logs.Of(log, "vault")})
	if err != nil {
		return nil, fmt.Errorf("settings vault: %w", err)
	}
	return c, nil
}

// newVaultSecrets is nil unless projects may read from Vault.
func (b *serverBase) newVaultSecrets() *vault.Secrets {
	s := b.settings.Vault.Secrets
	if b.vault == nil || s.Path == "" {
		return nil
	}
	return &vault.Secrets{Client: b.vault, Mount: strings.Trim(s.Mount, "/"),
		Root: strings.Trim(s.Path, "/")}
}

// open reads the keys. The first wrapper seals new values.
func (k *sealingKeys) open(ctx context.Context, s Settings) error {
	all := map[string]seal.Wrapper{}
	if s.Master.Keys != "" {
		local, err := seal.ParseLocalKeys(s.Master.Keys)
		if err != nil {
			return fmt.Errorf("setting master.keys: %w", err)
		}
		all["local"] = local
	}
	if kv := s.Vault.KV; kv.Path != "" {
		keys, err := vault.NewKVKeys(ctx, k.vault, kv.Mount, kv.Path, kv.Field)
		if err != nil {
			return fmt.Errorf("setting vault.kv.path: %w", explainRefused(err))
		}
		all["kv"] = keys
	}
	if t := s.Vault.Transit; t.Key != "" {
		keep, err := t.keepFor()
		if err != nil {
			return err
		}
		transit, err := vault.NewTransit(ctx, k.vault, t.Mount, t.Key)
		if err != nil {
			return fmt.Errorf("setting vault.transit.key: %w", explainRefused(err))
		}
		all["transit"] = seal.NewCache(transit, keep)
	}
	var ordered []seal.Wrapper
	for _, name := range []string{s.Master.Primary, "transit", "kv", "local"} {
		if w, ok := all[name]; ok {
			ordered = append(ordered, w)
			delete(all, name)
		}
	}
	var err error
	if k.ring, err = seal.NewKeyring(ordered...); err != nil {
		return fmt.Errorf("settings master and vault: %w", err)
	}
	return nil
}

func explainRefused(err error) error {
	if errors.Is(err, seal.ErrRefused) {
		return fmt.Errorf("%w: check role, policy and path; docs/vault.md lists what is needed", err)
	}
	return err
}

// awaitSealingKeys opens the keys. While Vault is unavailable it waits, and answers probes
// and requests with what it waits for. API is set if the process serves the API.
func awaitSealingKeys(
	ctx context.Context, s Settings, log *slog.Logger, serveAPI bool,
) (sealingKeys, error) {
	k, err := openSealingKeys(ctx, s, log)
	if !errors.Is(err, seal.ErrUnavailable) {
		return k, err
	}
	w := &vaultWait{log: log}
	w.setReason(err)
	stop, failed := w.serve(ctx, s, serveAPI)
	defer stop()
	if failed != nil {
		return k, failed
	}
	for pause := time.Second; errors.Is(err, seal.ErrUnavailable); pause = min(2*pause,
		maxVaultPause) {
		log.WarnContext(ctx, "waiting for Vault, which holds the sealing keys: check that it runs and "+
			"is unsealed, and that this machine reaches it", "retry_in", pause.String(),
			"error", err.Error())
		if err := wait.Sleep(ctx, pause); err != nil {
			return k, err
		}
		err = k.open(ctx, s)
		w.setReason(err)
	}
	return k, err
}

// vaultWait answers instead of the process that waits for Vault.
type vaultWait struct {
	log    *slog.Logger
	mu     sync.Mutex
	reason string
}

func (w *vaultWait) setReason(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.reason = err.Error()
	}
}

func (w *vaultWait) problems(context.Context) []api.PendingDependency {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []api.PendingDependency{{For: "vault", Reason: w.reason}}
}

// serve listens where the process will listen, until stop is called.
func (w *vaultWait) serve(ctx context.Context, s Settings, serveAPI bool) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	stop = func() { cancel(); running.Wait() }
	serve := func(l net.Listener) {
		running.Go(func() {
			err := serveHTTP(ctx, newProbeServer(w.handler()), l)
			if err != nil && ctx.Err() == nil {
				w.log.WarnContext(ctx, "probes are not answered", "error", err.Error())
			}
		})
	}
	if s.Metrics.Listen != "" {
		l, err := net.Listen("tcp", s.Metrics.Listen)
		if err != nil {
			return stop, fmt.Errorf("setting metrics.listen: %w", err)
		}
		serve(l)
	}
	if serveAPI {
		l, err := net.Listen("tcp", s.HTTP.Listen)
		if err != nil {
			return stop, fmt.Errorf("setting http.listen: %w", err)
		}
		if l, _, err = s.HTTP.secureListener(l, &orderedCertificate{}); err != nil {
			return stop, err
		}
		serve(l)
	}
	return stop, nil
}

// handler answers probes, and everything else with what is being waited for. The reason is
// for those who run the machine, so only probes and the log have it.
func (w *vaultWait) handler() http.Handler {
	probes := api.NewProbeHandler(w.problems)
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			probes.ServeHTTP(out, r)
			return
		}
		body := map[string]any{"type": "about:blank", "title": "Service Unavailable", "status": 503,
			"code": "waiting_for_vault", "detail": "NullOps is starting and waits for Vault",
			"remedy": "Try again in a moment. If it stays, ask an admin to look at the log."}
		kind := "application/problem+json"
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			kind = "text/plain; charset=utf-8"
		}
		out.Header().Set("Content-Type", kind)
		out.Header().Set("Cache-Control", "no-store")
		out.Header().Set("Retry-After", "5")
		out.WriteHeader(http.StatusServiceUnavailable)
		if kind != "application/problem+json" {
			_, _ = fmt.Fprintf(out, "%s. %s\n", body["detail"], body["remedy"])
			return
		}
		_ = json.NewEncoder(out).Encode(body)
	})
}

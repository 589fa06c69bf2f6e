package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/durable"
)

func devCommand() *cobra.Command {
	return serverCommand("dev", "Run control plane, UI, ingress and PostgreSQL on this machine",
		Settings.checkDev, runDev)
}

// checkDev checks all settings but those that dev provides itself: the database and master keys.
func (s Settings) checkDev() error {
	return errors.Join(s.HTTP.check(), s.OIDC.check(), s.Vault.check(),
		checkAddress("ingress.listen", s.Ingress.Listen),
		absoluteURL("ingress.url", s.Ingress.URL), s.checkCommon())
}

// runDev is one process for a laptop: everything but the agent, which runs
// where the Docker Engine is and is enrolled like any other.
func runDev(ctx context.Context, s Settings, log *slog.Logger) error {
	if err := durable.MakeDir(durable.OS{}, s.Dev.Data, 0o755); err != nil {
		return fmt.Errorf("setting dev.data: %w", err)
	}
	if s.HTTP.Data == defaultSettings().HTTP.Data {
		s.HTTP.Data = s.Dev.Data
	}
	var err error
	if s.Ingress.Sockets == "" {
		// An agent with the same folder as agent.sockets is found there.
		if s.Ingress.Sockets, err = filepath.Abs(filepath.Join(s.Dev.Data, "sockets")); err != nil {
			return fmt.Errorf("setting dev.data: %w", err)
		}
	}
	if s.Master.Keys == "" && !s.Vault.holdsKeys() {
		if s.Master.Keys, err = devKey(s.Dev.Data); err != nil {
			return err
		}
	}
	if s.Database.URL != "" {
		return devControlPlane(ctx, s, log)
	}
	if s.Dev.Restore != "" {
		if _, err := os.Stat(s.Dev.Restore); err != nil {
			return fmt.Errorf("setting dev.restore: %w", err)
		}
		if err := setDatabaseAside(ctx, s.Dev, log); err != nil {
			return err
		}
	}
	database, err := newDevPostgres(s.Dev, log)
	if err != nil {
		return err
	}
	s.Database.URL = database.connString()
	// The database stops after the control plane, which releases its leases when it ends.
	group, serving := errgroup.WithContext(ctx)
	lasting, stopDatabase := context.WithCancel(context.WithoutCancel(ctx))
	ready := make(chan struct{})
	group.Go(func() error { return database.run(lasting, func() { close(ready) }) })
	group.Go(func() error {
		defer stopDatabase()
		select {
		case <-ready:
			return devControlPlane(serving, s, log)
		case <-serving.Done():
			return nil
		}
	})
	return group.Wait()
}

func devControlPlane(ctx context.Context, s Settings, log *slog.Logger) error {
	if s.Dev.Restore != "" {
		if err := devRestore(ctx, s, log); err != nil {
			return err
		}
	}
	b, err := openBase(ctx, s, log, true)
	if err != nil {
		return err
	}
	defer b.close()
	b.routed = new(atomic.Bool)
	return b.run(ctx, b.controlPlane, b.serveIngress)
}

// setDatabaseAside makes room for an empty database. The old one is kept.
func setDatabaseAside(ctx context.Context, s DevSettings, log *slog.Logger) error {
	data := filepath.Join(s.Data, "postgres")
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	aside := data + time.Now().UTC().Format(".20060102T150405Z")
	if err := os.Rename(data, aside); err != nil {
		return fmt.Errorf("put the database aside: %w", err)
	}
	log.InfoContext(ctx, "the database was put aside", "folder", aside)
	return nil
}

// devRestore fills the database from the backup that the setting names.
func devRestore(ctx context.Context, s Settings, log *slog.Logger) error {
	file, err := os.Open(s.Dev.Restore)
	if err != nil {
		return fmt.Errorf("setting dev.restore: %w", err)
	}
	defer func() { _ = file.Close() }()
	return restoreFrom(ctx, s, log, file)
}

// devKey makes a sealing key once, beside the data it seals: fine on a laptop
// and nowhere else.
func devKey(data string) (string, error) {
	path := filepath.Join(data, "master.key")
	text, err := os.ReadFile(path)
	if err == nil {
		key := strings.TrimSpace(string(text))
		if _, err := seal.ParseKeyring(key); err != nil {
			return "", fmt.Errorf("%s is damaged: %w; restore the file, since nothing else opens what "+
				"is sealed with this key", path, err)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read sealing key: %w", err)
	}
	key, err := seal.NewKey("dev")
	if err != nil {
		return "", err
	}
	// Secrets are sealed with it from now on, so it must survive a loss of power.
	err = durable.WriteFile(durable.OS{}, path, []byte(key+"\n"), 0o600)
	if err != nil {
		return "", fmt.Errorf("write sealing key: %w", err)
	}
	return key, nil
}

// Package catalog is what admins define: registries, services, plugins,
// environments, and projects with their pipelines and secrets. Nodes and certificates
// have packages of their own.
//
// Secrets are sealed on write, and opened for one run or one connection, never for a
// page; the keyring does both. Each change, each refused attempt and each opening of
// secrets is an entry of the audit journal, written in the same transaction where
// there is one. What something uses cannot be deleted; what was saved as a pipeline
// version cannot change.
package catalog

import (
	"context"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/controlplane/vault"
)

// Images is what the catalogue wants to know of container registries. Each
// method asks at most one registry, ends with the context, and fails with a
// *controlplane.Error that names the registry. Concurrent use is fine.
type Images interface {
	// Ping asks whether the registry answers and takes the credentials.
	Ping(ctx context.Context, s registry.Source) error
	// ListTags returns all tags; an outdated list is marked stale.
	ListTags(ctx context.Context, s registry.Source) (registry.TagList, error)
	// Resolve returns the digest that a tag has now.
	Resolve(ctx context.Context, s registry.Source, tag string) (digest string, err error)
	// Inspect returns facts of the image that a tag or a digest names now.
	Inspect(ctx context.Context, s registry.Source,
		reference string) (controlplane.ImageFacts, error)
	// Describe returns what it finds out about tags within the time.
	DescribeTags(ctx context.Context, s registry.Source, tags []string,
		within time.Duration) map[string]registry.Image
	// Attach puts an artifact beside the image of a digest.
	Attach(ctx context.Context, s registry.Source, digest string, a registry.Artifact) error
	// DescribeImage returns what a tag's image says about how it runs.
	DescribeImage(ctx context.Context, s registry.Source, tag string) (registry.ImageConfig, error)
}

var _ Images = (*registry.Client)(nil)

// Config is what the catalogue needs.
type Config struct {
	Store  *postgres.Store
	Keys   *keyring.Keyring
	Images Images
	// Vault reads secrets that are kept there; nil reads none.
	Vault *vault.Secrets
	// Scripts checks and tests scripts; nil refuses pipelines with scripts.
	Scripts Scripts
	// UIHost is the host of the UI; no environment may share its domain unless Shared is
	// set. Empty disables the check.
	UIHost string
	Shared bool
	Log    *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Catalog is the door to everything admins define. It is safe for concurrent
// use.
type Catalog struct {
	store  *postgres.Store
	keys   *keyring.Keyring
	images Images
	vault  *vault.Secrets
	uiHost string
	shared bool
	log    *slog.Logger
	now    func() time.Time
	// choices spare lists from reading again what has not changed. They are never older
	// than the transaction that asks, which knows of which row they are.
	choices *lru.Cache[controlplane.ProjectID, versionChoices]
	scripts *scriptChecker
}

// New makes the catalogue.
func New(c Config) *Catalog {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Scripts == nil {
		c.Scripts = noScripts{}
	}
	// Only a size below one is an error.
	remembered, _ := lru.New[controlplane.ProjectID, versionChoices](mostChoices)
	return &Catalog{
		choices: remembered, scripts: newScriptChecker(c.Scripts),
		store: c.Store, keys: c.Keys, images: c.Images, vault: c.Vault,
		uiHost: c.UIHost, shared: c.Shared, log: c.Log, now: c.Now,
	}
}

func (c *Catalog) changeAsAdmin(
	ctx context.Context, actor access.Actor, action, object string, fn func(*postgres.Tx) error,
) error {
	return audit.ChangeAsAdmin(ctx, c.store, actor, action, object, fn)
}

// checkSeesCatalog checks that the actor may see what everybody with any grant sees.
func checkSeesCatalog(actor access.Actor, what, name string) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	if !access.CanSeeCatalog(actor) {
		return controlplane.NewNotFoundError(what, name)
	}
	return nil
}

func checkDescription(s string) error {
	if len(s) <= 500 {
		return nil
	}
	return controlplane.NewInvalidError(
		"description",
		"too_long",
		"a description has at most 500 bytes",
		"Shorten it.",
	)
}

// Package catalog is what admins define: registries, services, plugins,
// environments, projects with their pipelines and secrets, and nodes.
//
// It is the only package that opens secrets: sealed on write, opened for one
// run or one connection, never for a page. Each change, each refused attempt
// and each opening of secrets is an entry of the audit journal, written in the
// same transaction where there is one. What something uses cannot be deleted;
// what was saved as a pipeline version cannot change.
package catalog

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/controlplane/seal"
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
}

var _ Images = (*registry.Client)(nil)

// IssuedToken is a new node credential: the token, shown once, its public
// name, and the key that both ends derive from it.
type IssuedToken struct {
	Token controlplane.Plain
	Kid   string
	Key   []byte
}

// Config is what the catalogue needs.
type Config struct {
	Store  *postgres.Store
	Keys   *seal.Keyring
	Images Images
	// Vault reads secrets that are kept there; nil reads none.
	Vault *vault.Secrets
	// Scripts checks and tests scripts; nil refuses pipelines with scripts.
	Scripts Scripts
	// IssueToken makes a node's credential, bound to our own identity.
	IssueToken func() (IssuedToken, error)
	// UIHost is the host of the UI; no environment may share its domain unless Shared is
	// set. Empty disables the check.
	UIHost string
	Shared bool
	// AllowLoopback lets nodes be on this machine, for development.
	AllowLoopback bool
	// Deny forbids further node addresses, such as the control plane's own and the database's; nil
	// forbids no others.
	Deny func(netip.AddrPort) bool
	Log  *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Catalog is the door to everything admins define. It is safe for concurrent
// use.
type Catalog struct {
	store         *postgres.Store
	keys          valueKeys
	images        Images
	vault         *vault.Secrets
	issueToken    func() (IssuedToken, error)
	uiHost        string
	shared        bool
	allowLoopback bool
	deny          func(netip.AddrPort) bool
	log           *slog.Logger
	now           func() time.Time
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
	if c.Deny == nil {
		c.Deny = func(netip.AddrPort) bool { return false }
	}
	// Only a size below one is an error.
	remembered, _ := lru.New[controlplane.ProjectID, versionChoices](mostChoices)
	return &Catalog{
		choices: remembered, scripts: newScriptChecker(c.Scripts),
		store: c.Store, keys: valueKeys{c.Keys}, images: c.Images, vault: c.Vault,
		issueToken: c.IssueToken,
		uiHost:     c.UIHost, shared: c.Shared,
		allowLoopback: c.AllowLoopback, deny: c.Deny, log: c.Log, now: c.Now,
	}
}

// changeAsAdmin runs an admin's change in one transaction with its audit entry. A
// refusal is written down too.
func (c *Catalog) changeAsAdmin(
	ctx context.Context, actor access.Actor, action, object string, fn func(*postgres.Tx) error,
) error {
	return c.store.InAuditedTx(ctx, actor.NewAuditEntry(action, object), func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		return fn(tx)
	})
}

// requireAdmin checks the actor before work that comes ahead of a transaction, and
// writes a refusal down.
func (c *Catalog) requireAdmin(
	ctx context.Context, actor access.Actor, action, object string,
) error {
	return c.auditRefusal(ctx, actor, action, object,
		access.Check(actor, access.Admin, access.Object{}))
}

// auditRefusal writes down an attempt that ended before its transaction began.
func (c *Catalog) auditRefusal(
	ctx context.Context, actor access.Actor, action, object string, err error,
) error {
	if err == nil {
		return nil
	}
	if failed := c.store.RecordRefusal(ctx, *actor.NewAuditEntry(action, object), err); failed != nil {
		return failed
	}
	return err
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

// isFound splits "not found" from failures: creating is what a put does then.
func isFound(err error) (bool, error) {
	if controlplane.KindOf(err) == controlplane.NotFound {
		return false, nil
	}
	return err == nil, err
}

func invalidError(field, code, message, remedy string) error {
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: code, Field: field, Message: message, Remedy: remedy,
	}
}

func checkDescription(s string) error {
	if len(s) <= 500 {
		return nil
	}
	return invalidError(
		"description",
		"too_long",
		"a description has at most 500 bytes",
		"Shorten it.",
	)
}

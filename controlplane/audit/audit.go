// Package audit reads the audit: who did what to what, from where, and with what
// result. It lists what a person may see, verifies that nothing was removed or
// changed, and deletes what is too old. Use cases write their entry in their own
// transaction; only attempts that ended before that are written here.
package audit

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Log is the journal. It is safe for concurrent use.
type Log struct {
	store *postgres.Store
	key   controlplane.AuditKey

	witnesses headMemory
}

// New makes a reader of the store's audit; the key must be the one with which the
// store links entries.
func New(store *postgres.Store, key controlplane.AuditKey) *Log {
	return &Log{store: store, key: key}
}

// Filter chooses entries; empty fields choose all.
type Filter struct {
	// Actor is exact, Action how it begins, Object a part of it in any case.
	Actor, Action, Object string
	Result                controlplane.AuditResult
	Since, Until          time.Time
	// Before is the ID of the entry that the page comes after; zero for none.
	Before int64
	Most   int
	// Forwards begins with the oldest.
	Forwards bool
}

// List returns what the actor may see, newest first unless asked otherwise: an admin sees
// everything, others see what they did themselves and what was done to their projects, environments
// and the deployments in them.
func (l *Log) List(
	ctx context.Context, actor access.Actor, f Filter,
) (all []controlplane.AuditEntry, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	scope := access.ReadableScope(actor)
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Audit().List(ctx, postgres.AuditFilter{
			Everything: scope.All, Own: actor.UserID(),
			Projects: scope.Projects, Environments: scope.Environments,
			Actor: f.Actor, Action: f.Action, Object: f.Object, Result: f.Result,
			Since: f.Since, Until: f.Until, Before: f.Before, Most: f.Most,
			Forwards: f.Forwards,
		})
		return err
	})
	return all, err
}

// RecordRefusal writes down an attempt that was refused before it reached a use case.
func (l *Log) RecordRefusal(
	ctx context.Context, actor access.Actor, action, object string, why error,
) error {
	return l.store.RecordRefusal(ctx, *actor.NewAuditEntry(action, object), why)
}

// DeleteBefore deletes entries older than the time and leaves a sealed checkpoint, so that
// Verify still proves that nothing else is missing. It returns how many entries it
// deleted.
func (l *Log) DeleteBefore(
	ctx context.Context, actor access.Actor, before time.Time,
) (gone int64, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	entry := actor.NewAuditEntry("cut", "audit")
	entry.Detail = "before " + before.UTC().Format(time.RFC3339)
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		last, ok, err := tx.Audit().GetLastBefore(ctx, before)
		if err != nil || !ok {
			return err
		}
		c := controlplane.AuditCheckpoint{Seq: last.Seq, Link: last.Link, At: last.At}
		c.Seal = l.key.SealCheckpoint(c)
		if gone, err = tx.Audit().Cut(ctx, c); err != nil {
			return err
		}
		entry.Result = controlplane.AuditOK
		return tx.Audit().Insert(ctx, *entry)
	})
	return gone, err
}

package sources

import (
	"context"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// findDrift lists what differs from the commit that was applied last, and who changed it. The
// documents of that commit may be refused by now, because something that they need is gone: then
// the drift that is known stays.
func (s *Sources) findDrift(ctx context.Context, x *controlplane.DefinitionSource) error {
	if x.State.Applied == nil || x.State.AppliedGeneration != x.Generation {
		x.State.Drift = nil
		return nil
	}
	docs, err := s.loadDocuments(ctx, *x, x.State.Applied.Hash)
	if err != nil {
		return err
	}
	changes, unlisted, err := s.tryDocuments(ctx, *x, docs)
	if err != nil {
		return refusalOf(err, docs, x.State.Applied.Hash)
	}
	x.State.Drift, x.State.Unlisted = keepDifferent(changes), unlisted
	return s.Store.Read(ctx, func(tx *postgres.Tx) error {
		for i := range x.State.Drift {
			if err := nameChanger(ctx, tx, *x, &x.State.Drift[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// nameChanger finds in the audit who changed a definition last, other than the source.
func nameChanger(ctx context.Context, tx *postgres.Tx, x controlplane.DefinitionSource,
	c *controlplane.DefinitionChange) error {
	const most = 50
	entries, err := tx.Audit().List(ctx, postgres.AuditFilter{Everything: true,
		Object: c.Name, Result: controlplane.AuditOK, Since: *x.State.AppliedAt, Most: most})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(entries, func(e controlplane.AuditEntry) bool {
		words := strings.Fields(e.Object)
		return e.Actor != actorOf(x).Name() && slices.Contains(words, c.Name) &&
			!strings.HasPrefix(e.Action, "hold ") && slices.Contains(words, c.Kind)
	})
	if i >= 0 {
		c.ChangedBy, c.ChangedAt = entries[i].Actor, &entries[i].At
	}
	return nil
}

package nodes

import (
	"context"
	"reflect"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// PutNode makes a node known without a token, or changes what an admin decides
// about one: its settings and its address. A new node gets its token by
// RotateToken, which shows it once.
func (s *Nodes) PutNode(
	ctx context.Context, actor access.Actor, p Put,
) (out controlplane.SaveResult[controlplane.Node], err error) {
	err = s.changeAsAdmin(ctx, actor, "put node", "node "+p.Name, func(tx *postgres.Tx) error {
		out, err = s.putNode(ctx, tx, p)
		return err
	})
	return out, err
}

func (s *Nodes) putNode(
	ctx context.Context, tx *postgres.Tx, p Put,
) (out controlplane.SaveResult[controlplane.Node], err error) {
	n, err := s.newNode(ctx, tx, p)
	if err != nil {
		return out, err
	}
	old, err := tx.Nodes().ByName(ctx, p.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	if !exists {
		out.Created, out.Changed = true, true
		err = tx.Nodes().Insert(ctx, n)
	} else {
		if err := sameMachine(old, n); err != nil {
			return out, err
		}
		n.ID = old.ID
		out.Changed = n.Address != old.Address || n.Connect != old.Connect ||
			n.Template != old.Template || !reflect.DeepEqual(n.OwnSettings, old.OwnSettings)
		if out.Changed {
			tx.RecordChange(old.OwnSettings, n.OwnSettings)
			err = tx.Nodes().SetSettings(ctx, n)
		}
	}
	if err != nil {
		return out, err
	}
	out.Object, err = tx.Nodes().ByName(ctx, p.Name)
	return out, err
}

// sameMachine refuses what only a new node can be given.
func sameMachine(old, n controlplane.Node) error {
	switch {
	case old.EnvironmentID != n.EnvironmentID:
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "node_stays",
			Field:   "environment",
			Message: "node " + old.Name + " belongs to environment " + old.Environment,
			Remedy:  "Remove the node and add it to the other environment."}
	case n.Expected != "" && n.Expected != old.Expected && n.Expected != old.Thumbprint:
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "node_met",
			Field:   "thumbprint",
			Message: "the expected thumbprint counts when a node is added, not later",
			Remedy:  "Leave it out; a changed certificate is approved with its own command."}
	}
	return nil
}

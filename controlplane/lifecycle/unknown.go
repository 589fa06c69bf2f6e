package lifecycle

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Seen is a deployment that a node's agent remembers a goal of.
type Seen struct {
	ID         controlplane.DeploymentID
	Generation int64
	Name       string
	Project    string
	// Environment and Phase are in the agent's words.
	Environment string
	Phase       string
	// Abandoned: a control plane did not want it, and it is being removed.
	Abandoned bool
}

// Held is what a node must leave alone although it has no goal.
type Held struct {
	// Named are deployments that people have not decided about.
	Named []controlplane.DeploymentID
	// Everything: what nobody can put a name to stays too.
	Everything bool
}

// Recognize compares what an agent remembers with what the database does. A
// deployment that was a goal once and has no row any more can only mean that
// the database was restored from a backup: it is listed, and nothing unknown is
// removed from that node until people have looked. One that the agent knows a
// later goal of than we do gets a goal later than that.
func (l *Lifecycle) Recognize(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, all []Seen) (h Held, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return h, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s Seen) bool {
		return !controlplane.ValidID(string(s.ID))
	})
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := recognize(ctx, tx, node, all); err != nil {
			return err
		}
		h, err = heldOn(ctx, tx, node)
		return err
	})
	return h, err
}

func recognize(ctx context.Context, tx *postgres.Tx, node controlplane.NodeID,
	all []Seen) error {
	ids := make([]controlplane.DeploymentID, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	known, err := tx.Recorded(ctx, ids)
	if err != nil {
		return err
	}
	for _, s := range all {
		switch {
		case known[s.ID]:
			err = tx.RaiseGeneration(ctx, s.ID, s.Generation)
		case !s.Abandoned:
			err = tx.PutUnknown(ctx, controlplane.UnknownDeployment{Node: node, ID: s.ID,
				Name: s.Name, Project: s.Project, Environment: s.Environment, Phase: s.Phase})
		}
		if err != nil {
			return err
		}
	}
	return tx.ForgetPurged(ctx, node, ids)
}

// Held gives what a node has to leave alone now.
func (l *Lifecycle) Held(
	ctx context.Context, actor access.Actor, node controlplane.NodeID,
) (h Held, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return h, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		h, err = heldOn(ctx, tx, node)
		return err
	})
	return h, err
}

func heldOn(ctx context.Context, tx *postgres.Tx, node controlplane.NodeID) (h Held, err error) {
	all, err := tx.Unknown(ctx, node)
	if err != nil || len(all) == 0 {
		return h, err
	}
	now, err := tx.Time(ctx)
	for _, u := range all {
		if u.PurgedAt == nil {
			h.Named = append(h.Named, u.ID)
		}
		h.Everything = h.Everything || now.Sub(u.FoundAt) < controlplane.KeepUnknown
	}
	return h, err
}

// Unknown lists what a node runs and the database does not know.
func (l *Lifecycle) Unknown(
	ctx context.Context, actor access.Actor, node string,
) (all []controlplane.UnknownDeployment, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		n, err := tx.NodeByName(ctx, node)
		if err != nil {
			return err
		}
		all, err = tx.Unknown(ctx, n.ID)
		return err
	})
	return all, err
}

// Purge has a node remove a deployment that the database does not know.
func (l *Lifecycle) Purge(ctx context.Context, actor access.Actor, node string,
	id controlplane.DeploymentID) error {
	entry := actor.Entry("purge deployment", "deployment "+string(id)+" on node "+node)
	return l.store.Audited(ctx, entry, func(tx *postgres.Tx) error {
		_, u, err := unknownOn(ctx, tx, actor, node, id)
		if err != nil {
			return err
		}
		entry.Object = "deployment " + u.Name + " on node " + node
		_, err = tx.PurgeUnknown(ctx, u.Node, id)
		return err
	})
}

// unknownOn finds one of a node's unknown deployments, for an admin.
func unknownOn(ctx context.Context, tx *postgres.Tx, actor access.Actor, node string,
	id controlplane.DeploymentID,
) (n controlplane.Node, u controlplane.UnknownDeployment, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return n, u, err
	}
	if n, err = tx.NodeByName(ctx, node); err != nil {
		return n, u, err
	}
	all, err := tx.Unknown(ctx, n.ID)
	if err != nil {
		return n, u, err
	}
	for _, u := range all {
		if u.ID == id {
			return n, u, nil
		}
	}
	return n, u, controlplane.Missing("unknown deployment", string(id))
}

// Recover lets the control plane command a node again whose agent has obeyed a
// newer one than this database knows. It takes a person to know that the
// database was restored, and that this is no copy of one that is in use.
func (l *Lifecycle) Recover(ctx context.Context, actor access.Actor, node string) error {
	entry := actor.Entry("recover node", "node "+node)
	return l.store.Audited(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		n, err := tx.NodeByName(ctx, node)
		if err != nil {
			return err
		}
		raised, err := tx.RaiseEpoch(ctx, n.ID)
		if err == nil && !raised {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "never_connected",
				Message: "nobody has connected to node " + node + " yet",
				Remedy:  "Start its agent with the line that adding the node showed."}
		}
		return err
	})
}

package lifecycle

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// RememberedDeployment is a deployment that a node's agent remembers a goal of.
type RememberedDeployment struct {
	ID         controlplane.DeploymentID
	Generation int64
	Run        controlplane.RunID
	Name       string
	Project    string
	// Environment and Phase are in the agent's words.
	Environment string
	Phase       controlplane.DeploymentStatus
	// Abandoned: a control plane did not want it, and it is being removed.
	Abandoned bool
}

// ProtectedDeployments is what a node must leave alone although it has no goal.
type ProtectedDeployments struct {
	// Named are deployments that people have not decided about.
	Named []controlplane.DeploymentID
	// Purging are those that people want to be gone, and that may still be there.
	Purging []controlplane.DeploymentID
	// Everything is set if also things without a known name have to stay.
	Everything bool
}

// CompareAgentMemory compares the agent's state with the database. A deployment that once was a
// goal and has no row can only mean that the database was restored from a backup: it
// is listed, and nothing unknown is removed from that node until people have decided.
// One whose row contradicts the node is listed too, and gets no goals. If both agree
// but the agent knows a later generation, the next goal gets a still later one.
func (l *Lifecycle) CompareAgentMemory(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, m AgentMemory) (h ProtectedDeployments, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return h, err
	}
	m.Deployments = slices.DeleteFunc(slices.Clone(m.Deployments), func(s RememberedDeployment) bool {
		return !controlplane.ValidID(string(s.ID))
	})
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := recognizeAll(ctx, tx, node, m); err != nil {
			return err
		}
		h, err = heldOn(ctx, tx, node)
		return err
	})
	return h, err
}

func recognizeAll(ctx context.Context, tx *postgres.Tx, node controlplane.NodeID,
	m AgentMemory) error {
	c, err := compareMemory(ctx, tx, node, m)
	if err != nil {
		return err
	}
	before, err := tx.UnknownDeployments().List(ctx, node)
	if err != nil {
		return err
	}
	ids := make([]controlplane.DeploymentID, len(m.Deployments))
	for i, s := range m.Deployments {
		ids[i] = s.ID
		if err := recognizeOne(ctx, tx, c, s, before); err != nil {
			return err
		}
	}
	for _, d := range c.findMissing(m.Deployments) {
		err := recordDispute(ctx, tx, controlplane.UnknownDeployment{Node: node, ID: d.ID, Name: d.Name,
			Project: d.Project, Environment: d.Environment, Disputed: true,
			Reason: "the node has nothing of it any more"})
		if err != nil {
			return err
		}
	}
	return tx.UnknownDeployments().DeletePurged(ctx, node, ids)
}

// recognizeOne compares what an agent remembers of one deployment.
func recognizeOne(ctx context.Context, tx *postgres.Tx, c agentComparison, s RememberedDeployment,
	before []controlplane.UnknownDeployment) error {
	u := controlplane.UnknownDeployment{Node: c.node, ID: s.ID, Name: s.Name, Project: s.Project,
		Environment: s.Environment, Phase: s.Phase, Run: s.Run, Generation: s.Generation}
	d, known := c.rows[s.ID]
	switch {
	case known:
	case s.Abandoned || s.Run == "":
		// The agent never got a goal for this one, or it is being removed.
		return nil
	default:
		return tx.UnknownDeployments().Put(ctx, u)
	}
	was := slices.IndexFunc(before, func(u controlplane.UnknownDeployment) bool {
		return u.ID == s.ID && u.Disputed
	})
	u.Reason = c.findContradiction(d, s)
	if u.Reason == "" && was >= 0 {
		u.Reason = before[was].Reason
	}
	if u.Reason == "" {
		return tx.Deployments().RaiseGeneration(ctx, s.ID, s.Generation)
	}
	u.Name, u.Project, u.Environment, u.Disputed = d.Name, d.Project, d.Environment, true
	return recordDispute(ctx, tx, u)
}

// ProtectedOn returns what a node has to leave alone now.
func (l *Lifecycle) ProtectedOn(
	ctx context.Context, actor access.Actor, node controlplane.NodeID,
) (h ProtectedDeployments, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return h, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		h, err = heldOn(ctx, tx, node)
		return err
	})
	return h, err
}

func heldOn(
	ctx context.Context,
	tx *postgres.Tx,
	node controlplane.NodeID,
) (h ProtectedDeployments, err error) {
	all, err := tx.UnknownDeployments().List(ctx, node)
	if err != nil || len(all) == 0 {
		return h, err
	}
	now, err := tx.DatabaseTime(ctx)
	for _, u := range all {
		if u.PurgedAt == nil {
			h.Named = append(h.Named, u.ID)
		} else {
			h.Purging = append(h.Purging, u.ID)
		}
		h.Everything = h.Everything || now.Sub(u.FoundAt) < controlplane.KeepUnknown
	}
	return h, err
}

// ListUnknown lists what a node runs and the database does not know.
func (l *Lifecycle) ListUnknown(
	ctx context.Context, actor access.Actor, node string,
) (all []controlplane.UnknownDeployment, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		n, err := tx.Nodes().ByName(ctx, node)
		if err != nil {
			return err
		}
		all, err = tx.UnknownDeployments().List(ctx, n.ID)
		return err
	})
	return all, err
}

// Purge has a node remove a deployment that the database does not know, or
// knows otherwise. The node has to be online for the latter.
func (l *Lifecycle) Purge(ctx context.Context, actor access.Actor, node string,
	id controlplane.DeploymentID, describe DescribeFunc) error {
	f, err := l.foundDisputed(ctx, actor, node, id, describe)
	if err != nil {
		return err
	}
	entry := actor.NewAuditEntry("purge deployment", "deployment "+string(id)+" on node "+node)
	return l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		n, u, err := unknownOn(ctx, tx, actor, node, id)
		if err != nil {
			return err
		}
		entry.Object = "deployment " + u.Name + " on node " + node
		if u.Disputed {
			return l.purgeDisputed(ctx, tx, actor, n, u, f)
		}
		_, err = tx.UnknownDeployments().Purge(ctx, u.Node, id)
		return err
	})
}

// foundDisputed asks a node only about a disputed deployment. Access is checked by the
// caller's change, so that refusals are in the audit.
func (l *Lifecycle) foundDisputed(ctx context.Context, actor access.Actor, node string,
	id controlplane.DeploymentID, describe DescribeFunc) (f DescribedDeployment, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		n, u, err := unknownOn(ctx, tx, actor, node, id)
		if err != nil || !u.Disputed {
			return nil
		}
		f.ID, f.On = id, n.ID
		return nil
	})
	if err != nil || f.On == "" {
		return f, err
	}
	return describe.describeDisputed(ctx, f.On, id)
}

// DeletePurgedUnknown takes a deployment off the list that its node does not have now.
func (l *Lifecycle) DeletePurgedUnknown(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, id controlplane.DeploymentID) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.UnknownDeployments().Delete(ctx, node, id)
	})
}

// unknownOn finds one of a node's unknown deployments, for an admin.
func unknownOn(ctx context.Context, tx *postgres.Tx, actor access.Actor, node string,
	id controlplane.DeploymentID,
) (n controlplane.Node, u controlplane.UnknownDeployment, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return n, u, err
	}
	if n, err = tx.Nodes().ByName(ctx, node); err != nil {
		return n, u, err
	}
	all, err := tx.UnknownDeployments().List(ctx, n.ID)
	if err != nil {
		return n, u, err
	}
	for _, u := range all {
		if u.ID == id {
			return n, u, nil
		}
	}
	return n, u, controlplane.NewNotFoundError("unknown deployment", string(id))
}

// Recover lets the control plane command a node again whose agent has seen a newer
// epoch than this database has. A person has to confirm that the database was
// restored, and that it is not a copy of one in use.
func (l *Lifecycle) Recover(ctx context.Context, actor access.Actor, node string) error {
	entry := actor.NewAuditEntry("recover node", "node "+node)
	return l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		n, err := tx.Nodes().ByName(ctx, node)
		if err != nil {
			return err
		}
		raised, err := tx.Leases().RaiseEpoch(ctx, n.ID)
		if err == nil && !raised {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "never_connected",
				Message: "nobody has connected to node " + node + " yet",
				Remedy:  "Start its agent with the line that adding the node showed."}
		}
		return err
	})
}

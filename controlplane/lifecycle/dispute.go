package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// AgentMemory is what a node's agent remembers when it connects.
type AgentMemory struct {
	Deployments []RememberedDeployment
	// FirstReport is the oldest report that the agent still has, Acknowledged the last one
	// that a control plane acknowledged.
	FirstReport  int64
	Acknowledged int64
}

// agentComparison holds what a node and the database say about the same things.
type agentComparison struct {
	node controlplane.NodeID
	rows map[controlplane.DeploymentID]controlplane.RecordedDeployment
	runs map[controlplane.RunID]bool
	// restored is set if reports are acknowledged that this database does not have. Then
	// the agent knows what happened since the backup, and a deployment it does not have
	// was removed.
	restored bool
	// gap: some of those reports are no longer kept, so they do not come again.
	gap bool
}

func compareMemory(ctx context.Context, tx *postgres.Tx, node controlplane.NodeID,
	m AgentMemory) (c agentComparison, err error) {
	ids := make([]controlplane.DeploymentID, len(m.Deployments))
	var runs []controlplane.RunID
	for i, s := range m.Deployments {
		ids[i] = s.ID
		if controlplane.ValidID(string(s.Run)) {
			runs = append(runs, s.Run)
		}
	}
	c.node = node
	if c.rows, err = tx.Deployments().ListRecorded(ctx, node, ids); err != nil {
		return c, err
	}
	if c.runs, err = tx.Runs().ListRecorded(ctx, runs); err != nil {
		return c, err
	}
	last, err := tx.NodeReports().GetLast(ctx, node)
	c.restored = m.Acknowledged > last
	c.gap = c.restored && m.FirstReport > last+1
	return c, err
}

// findContradiction returns why a row cannot be right given its node's state, or "". A
// database that was never restored is always ahead of its nodes, so a newer generation
// or an unknown run on the node means that the row is old.
func (c agentComparison) findContradiction(
	d controlplane.RecordedDeployment,
	s RememberedDeployment,
) string {
	settled := d.Status.IsGone() || d.Status == controlplane.Failed || d.Status == ""
	if isIdle(s.Phase) && settled {
		return ""
	}
	here := d.Node == c.node && !d.Relocating
	same := d.Run == s.Run && d.Status == s.Phase && !s.Abandoned
	switch {
	case s.Run != "" && !c.runs[s.Run]:
		return "the node has a run that the database does not know"
	case s.Generation > d.Generation && !(same && d.Node == c.node):
		return "the node was told newer things than the database knows"
	case here && s.Abandoned && !settled:
		return "the node was told to remove it by somebody else"
	case here && c.gap && !same && !settled:
		return "the node no longer has the reports that the database lost"
	}
	return ""
}

// isIdle reports whether a node has nothing of a deployment in that phase.
func isIdle(phase controlplane.DeploymentStatus) bool {
	return phase == "" || phase == controlplane.Failed || phase == controlplane.Removed
}

// findMissing lists what a node has to have and does not, although its memory is
// newer than the database: it was removed after the backup was made, or moved away. A move that
// the database still knows is no excuse: until its end, the node keeps what it has.
func (c agentComparison) findMissing(
	all []RememberedDeployment,
) (gone []controlplane.RecordedDeployment) {
	if !c.restored {
		return nil
	}
	for _, d := range c.rows {
		known := slices.ContainsFunc(all, func(s RememberedDeployment) bool { return s.ID == d.ID })
		if !known && d.Node == c.node {
			gone = append(gone, d)
		}
	}
	slices.SortFunc(
		gone,
		func(a, b controlplane.RecordedDeployment) int { return cmp.Compare(a.ID, b.ID) },
	)
	return gone
}

// recordDispute stores that a node contradicts a row, and notifies the deployment's
// watchers. From now on the node gets no goals for it.
func recordDispute(ctx context.Context, tx *postgres.Tx, u controlplane.UnknownDeployment) error {
	if err := tx.UnknownDeployments().Put(ctx, u); err != nil {
		return err
	}
	d, err := tx.Deployments().Lock(ctx, u.ID)
	if err != nil {
		return err
	}
	if d.NodeID != u.Node {
		return nil
	}
	if isIdle(u.Phase) {
		if err := doubtHealth(ctx, tx, d); err != nil {
			return err
		}
	}
	detail := fmt.Sprintf("needs a decision, see 'nullops node unknown %s': %s", d.Node, u.Reason)
	if d.Detail == detail {
		return nil
	}
	return notifyMove(ctx, tx, d, detail)
}

// doubtHealth takes back that services are healthy which their node does not
// have.
func doubtHealth(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	steps, err := tx.Steps().ListOf(ctx, d.RunID)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Kind != pipeline.KindService {
			continue
		}
		h := controlplane.ServiceHealth{Deployment: d.ID, Step: s.Key, Health: pipeline.HealthUnknown,
			Detail: "node " + d.Node + " does not have it"}
		if _, err := tx.Health().Put(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// notDisputed refuses to change a deployment while its node contradicts its
// row: what is done would be built on what may be wrong.
func notDisputed(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	_, nodes, err := tx.UnknownDeployments().ListDisputingNodes(ctx, d.ID)
	if err != nil || len(nodes) == 0 {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "needs_decision",
		Message: fmt.Sprintf("deployment %s is something else on node %s than in the database, "+
			"which was restored from a backup", d.Name, strings.Join(nodes, " and ")),
		Remedy: "An admin decides first: see 'nullops node unknown " + nodes[0] + "'."}
}

// isDisputed is notDisputed for what is done without anybody asking.
func isDisputed(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) (bool, error) {
	_, nodes, err := tx.UnknownDeployments().ListDisputingNodes(ctx, d.ID)
	return len(nodes) > 0, err
}

package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// adoptDisputed changes a row to what its node has.
func (l *Lifecycle) adoptDisputed(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	n controlplane.Node, u controlplane.UnknownDeployment, f DescribedDeployment) (
	d controlplane.Deployment, err error) {
	if d, err = tx.Deployments().Lock(ctx, u.ID); err != nil {
		return d, err
	}
	if err := mayBelieve(ctx, tx, d, n, f); err != nil {
		return d, err
	}
	if err := notElsewhere(ctx, tx, d, n, f); err != nil {
		return d, err
	}
	to := statusOf(f)
	way := wayTo(d.Status, to)
	if way == nil && d.Status != to {
		return d, wrongState(d, string(to), "Purge what the node has instead.")
	}
	if err := l.takeRun(ctx, tx, actor, &d, n, f); err != nil {
		return d, err
	}
	goal := controlplane.GoalPresent
	if to != controlplane.Ready && f.Gone {
		goal = controlplane.GoalGone
	}
	if err := tx.Deployments().AlignGoal(ctx, d.ID, max(f.Generation, d.Generation),
		goal); err != nil {
		return d, err
	}
	// End the disputes before moving the status, because each move notifies the
	// deployment's watchers.
	if err := tx.UnknownDeployments().EndDisputes(ctx, d.ID); err != nil {
		return d, err
	}
	if err := moveAlong(ctx, tx, d, way); err != nil {
		return d, err
	}
	if to.IsGone() {
		if err := tx.Hosts().Delete(ctx, d.ID); err != nil {
			return d, err
		}
	}
	return tx.Deployments().Get(ctx, d.ID)
}

func moveAlong(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	way []controlplane.DeploymentStatus) error {
	if len(way) == 0 {
		return notifyMove(ctx, tx, d, "adopted as it is on node "+d.Node)
	}
	for _, to := range way {
		if err := moveStatus(ctx, tx, d, to, "adopted as it is on node "+d.Node, nil); err != nil {
			return err
		}
		d.Status = to
	}
	return nil
}

// mayBelieve refuses to believe a node about a deployment that another one has.
func mayBelieve(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	n controlplane.Node, f DescribedDeployment) error {
	if d.NodeID == n.ID {
		return nil
	}
	if d.Status.IsGone() {
		// Another deployment may have its name and hosts by now.
		return wrongState(d, "adopted", "Purge it.")
	}
	nodes, _, err := tx.UnknownDeployments().ListDisputingNodes(ctx, d.ID)
	if err != nil {
		return err
	}
	lost := d.NodeID == "" || d.Status == controlplane.Failed || slices.Contains(nodes, d.NodeID)
	if lost && !isIdle(f.Phase) {
		return nil
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_adoptable",
		Message: fmt.Sprintf("deployment %s is on node %s, and not on node %s, as far as is known",
			d.Name, d.Node, n.Name),
		Remedy: fmt.Sprintf("If it was moved to node %s after the backup, let node %s connect first: "+
			"once 'nullops node unknown %s' lists it, it can be adopted here. Otherwise purge what "+
			"node %s has of it.", n.Name, d.Node, d.Node, n.Name)}
}

// notElsewhere refuses to believe a node that has nothing while another one has the deployment:
// it was moved there after the backup, and ending its row would remove it.
func notElsewhere(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	n controlplane.Node, f DescribedDeployment) error {
	if !isIdle(f.Phase) {
		return nil
	}
	nodes, names, err := tx.UnknownDeployments().ListDisputingNodes(ctx, d.ID)
	if err != nil {
		return err
	}
	for i, other := range nodes {
		idle, err := isIdleOn(ctx, tx, other, d.ID)
		if err != nil {
			return err
		}
		if other != n.ID && !idle {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_adoptable",
				Message: fmt.Sprintf("deployment %s is on node %s now, and node %s has nothing of it",
					d.Name, names[i], n.Name),
				Remedy: fmt.Sprintf("Decide about what is there: 'nullops node adopt %s %s' keeps it, "+
					"'nullops node purge %s %s' removes it.", names[i], d.Name, names[i], d.Name)}
		}
	}
	return nil
}

// isIdleOn reports whether a node that disputes a deployment has nothing of it.
func isIdleOn(ctx context.Context, tx *postgres.Tx, node controlplane.NodeID,
	id controlplane.DeploymentID) (bool, error) {
	all, err := tx.UnknownDeployments().List(ctx, node)
	return slices.ContainsFunc(all, func(u controlplane.UnknownDeployment) bool {
		return u.ID == id && u.Disputed && isIdle(u.Phase)
	}), err
}

// settleOn makes the node that has a deployment its own. A move that the backup knows has ended.
func settleOn(ctx context.Context, tx *postgres.Tx, d *controlplane.Deployment,
	n controlplane.Node) error {
	if d.NodeID == n.ID {
		return nil
	}
	d.NodeID, d.Node = n.ID, n.Name
	if err := tx.Deployments().ReplaceRunTarget(ctx, *d); err != nil {
		return err
	}
	return tx.Relocations().End(ctx, d.ID)
}

// takeRun writes down the run that the node has, and where it is.
func (l *Lifecycle) takeRun(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d *controlplane.Deployment, n controlplane.Node, f DescribedDeployment) error {
	if err := settleOn(ctx, tx, d, n); err != nil {
		return err
	}
	if f.Run == "" || f.Run == d.RunID {
		return l.alignSteps(ctx, tx, f)
	}
	runs, err := tx.Runs().ListRecorded(ctx, []controlplane.RunID{f.Run})
	if err != nil {
		return err
	}
	if runs[f.Run] {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_adoptable",
			Message: "deployment " + d.Name + " has a newer run in the database than on node " + n.Name,
			Remedy:  "Purge what the node has."}
	}
	target, err := tx.Projects().LoadRunTarget(ctx, d.Project)
	if err != nil {
		return err
	}
	d.RunID = f.Run
	ask := resourceRequest(f.Pipeline, controlplane.Placement{})
	d.Versions, d.Resources = listVersions(f.Pipeline), ask.Resources
	d.VRAMMiB = new(int64(ask.VRAMMiB))
	if err := tx.Deployments().ReplaceRunTarget(ctx, *d); err != nil {
		return err
	}
	if err := tx.Hosts().Replace(ctx, d.ID, deploymentHosts(*d, f.Pipeline)); err != nil {
		return err
	}
	return l.adoptRun(ctx, tx, actor, *d, f, target)
}

// alignSteps sets the steps of a stored run to what the node reports.
func (l *Lifecycle) alignSteps(ctx context.Context, tx *postgres.Tx, f DescribedDeployment) error {
	now, err := tx.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	for key, status := range f.Steps {
		row := controlplane.StepRow{Run: f.Run, Key: key, Status: status, Sealed: f.Sealed[key]}
		if _, err := tx.Steps().Move(ctx, row, now); err != nil {
			return err
		}
	}
	return nil
}

// statusOf returns the status that corresponds to the node's phase.
func statusOf(f DescribedDeployment) controlplane.DeploymentStatus {
	if f.Phase == "" {
		return controlplane.Removed
	}
	return f.Phase
}

// wayTo is the shortest way from one status to another. A node is ahead of a row
// that was restored, so there is one: it went that way before.
func wayTo(from, to controlplane.DeploymentStatus) []controlplane.DeploymentStatus {
	ways := map[controlplane.DeploymentStatus][]controlplane.DeploymentStatus{from: {}}
	for next := []controlplane.DeploymentStatus{from}; len(next) > 0; next = next[1:] {
		for _, s := range controlplane.DeploymentStatuses() {
			if _, seen := ways[s]; seen || !next[0].CanMove(s) || s == controlplane.Forgotten {
				continue
			}
			ways[s] = append(slices.Clone(ways[next[0]]), s)
			next = append(next, s)
		}
	}
	return ways[to]
}

// DescribeFunc asks a node for all it knows about a deployment. The error is NotFound if the
// node does not have it.
type DescribeFunc func(context.Context, controlplane.NodeID,
	controlplane.DeploymentID) (DescribedDeployment, error)

// describeDisputed asks a node what it has of a disputed deployment now.
func (d DescribeFunc) describeDisputed(ctx context.Context, n controlplane.NodeID,
	id controlplane.DeploymentID) (DescribedDeployment, error) {
	f, err := d(ctx, n, id)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return DescribedDeployment{ID: id}, nil
	}
	return f, err
}

// purgeDisputed removes what a node has. What it has is written down first, so
// that plugins get back what they need to undo their work.
func (l *Lifecycle) purgeDisputed(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	n controlplane.Node, u controlplane.UnknownDeployment, f DescribedDeployment) error {
	d, err := tx.Deployments().Lock(ctx, u.ID)
	if err != nil {
		return err
	}
	if d.NodeID != n.ID {
		_, err = tx.UnknownDeployments().Purge(ctx, n.ID, u.ID)
		return err
	}
	if d, err = l.adoptDisputed(ctx, tx, actor, n, u, f); err != nil || d.Status.IsGone() {
		return err
	}
	if err := recordRemover(ctx, tx, d, actor.Name()); err != nil {
		return err
	}
	return removeDeployment(ctx, tx, d)
}

// RecreateDisputed creates a deployment again that its node no longer has: under the same name and
// addresses, with all steps of a new run, and with empty volumes.
func (l *Lifecycle) RecreateDisputed(ctx context.Context, actor access.Actor, node string,
	id controlplane.DeploymentID, describe DescribeFunc) (d controlplane.Deployment, err error) {
	_, u, f, err := l.findOnNode(ctx, actor, node, id, describe)
	if err != nil {
		return d, err
	}
	if !u.Disputed || !isIdle(f.Phase) {
		return d, &controlplane.Error{Kind: controlplane.Conflict, Code: "still_there",
			Message: "node " + node + " still has deployment " + u.Name,
			Remedy: "Purge it; once it is removed, 'nullops recreate " + u.Name +
				"' makes it again, with empty volumes."}
	}
	if d, err = l.Adopt(ctx, actor, node, id, describe); err != nil {
		return d, err
	}
	if d.Status == controlplane.Failed {
		return l.Retry(ctx, actor, id, RetryOptions{SameVersion: true})
	}
	return l.Recreate(ctx, actor, id, RecreateOptions{Pinned: true})
}

// findOnNode reads what is listed of a deployment, and then asks its node for the
// rest. No transaction is open while it waits for the node.
func (l *Lifecycle) findOnNode(ctx context.Context, actor access.Actor, node string,
	id controlplane.DeploymentID, describe DescribeFunc) (n controlplane.Node,
	u controlplane.UnknownDeployment, f DescribedDeployment, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		n, u, err = unknownOn(ctx, tx, actor, node, id)
		return err
	})
	if err != nil {
		return n, u, f, err
	}
	if u.Disputed {
		f, err = describe.describeDisputed(ctx, n.ID, id)
	} else {
		f, err = describe(ctx, n.ID, id)
	}
	return n, u, f, err
}

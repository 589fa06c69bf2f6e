package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// MoveRequest is where a deployment moves to, and what may be lost on the way.
type MoveRequest struct {
	// Node is the target; empty lets placement choose. Only admins may name one.
	Node string
	// DropVolumes moves without copying the volumes: a new deployment with empty ones is created.
	DropVolumes bool
}

const (
	// movesAtOnce bounds how many moves one call of FinishMoves continues.
	movesAtOnce = 20
	// moveFor is how long creation on another node is retried.
	moveFor = time.Hour
)

// Move takes a deployment to another node. One without volumes is removed and then
// created there under a new id, with the same name, URLs, digests and pipeline
// version. One with volumes keeps its id and its data, see relocate. It fails while no
// other node can take it.
func (l *Lifecycle) Move(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	to MoveRequest) (controlplane.Deployment, error) {
	d, err := l.Get(ctx, actor, id)
	if err != nil {
		return d, err
	}
	if err := l.checkPublished(ctx, d, "moved"); err != nil {
		return d, err
	}
	r := likeBefore(d, RecreateOptions{Pinned: true})
	r.Avoid, r.Owner, r.Wait = string(d.NodeID), d.CreatedBy, true
	if r.Required, err = l.requiredLabels(ctx, id); err != nil {
		return d, err
	}
	if r.Only, err = l.findNodeID(ctx, actor, to.Node); err != nil {
		return d, err
	}
	p, err := l.makePlan(ctx, actor, r)
	if err != nil {
		return d, l.recordRefusal(ctx, actor, "move", d.Name, err)
	}
	m := plannedMove{actor: actor, plan: p, request: r, dropVolumes: to.DropVolumes}
	m.plan.answers, err = l.askNodes(ctx, nodeQuestion{deployment: d, user: actor.Name(), plan: p,
		check: func(ctx context.Context, tx *postgres.Tx) error {
			now, err := tx.Deployments().Get(ctx, id)
			if err != nil {
				return err
			}
			return mayStartMove(ctx, tx, now, m)
		}})
	if err != nil {
		return d, l.recordRefusal(ctx, actor, "move", d.Name, err)
	}
	defer l.withdrawOffer(ctx, m.plan.answers.claim)
	m.request.Claimed = m.plan.answers.node
	return l.changeDeployment(ctx, actor, "move deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			return startMove(ctx, tx, d, m)
		})
}

// findNodeID finds the node that an admin chose.
func (l *Lifecycle) findNodeID(
	ctx context.Context, actor access.Actor, name string,
) (id string, err error) {
	if name == "" {
		return "", nil
	}
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return "", err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		n, err := tx.Nodes().ByName(ctx, name)
		id = string(n.ID)
		return inField("node", err)
	})
	return id, err
}

// plannedMove is what a deployment is moved with.
type plannedMove struct {
	actor access.Actor
	plan  plan
	// request makes the deployment again on the other node.
	request     Request
	dropVolumes bool
}

// mayStartMove refuses what cannot be moved now.
func mayStartMove(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, m plannedMove,
) error {
	if d.Status != controlplane.Ready || string(d.NodeID) != m.request.Avoid {
		return notReady(d)
	}
	if err := notDisputed(ctx, tx, d); err != nil {
		return err
	}
	if access.Check(m.actor, access.Admin, access.Object{}) != nil {
		if err := requireNoOtherHold(ctx, tx, m.actor, d); err != nil {
			return err
		}
	}
	r, err := tx.Relocations().Get(ctx, d.ID)
	return errors.Join(err, onItsWay(d, r))
}

// startMove begins a move, if the deployment can go and has somewhere to go to.
func startMove(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, m plannedMove,
) error {
	if err := mayStartMove(ctx, tx, d, m); err != nil {
		return err
	}
	if err := notHeld(ctx, tx, d); err != nil {
		return err
	}
	every := func(pipeline.Volume) bool { return true }
	if len(volumeNames(m.plan.pipeline, every)) > 0 && !m.dropVolumes {
		return startRelocation(ctx, tx, m.actor, d, m.plan)
	}
	if _, err := choosePlacement(ctx, tx, d.EnvironmentID, m.plan, false); err != nil {
		return err
	}
	request, err := json.Marshal(m.request)
	if err != nil {
		return fmt.Errorf("write what is made elsewhere: %w", err)
	}
	if err := tx.Moves().Start(ctx, d.ID, request); err != nil {
		return err
	}
	if err := recordRemover(ctx, tx, d, m.actor.Name()); err != nil {
		return err
	}
	return removeDeployment(ctx, tx, d)
}

func notReady(d controlplane.Deployment) error {
	return wrongState(d, "moved", "Only a deployment that is ready is moved.")
}

// onItsWay returns an error while an earlier move of the deployment is not finished.
func onItsWay(d controlplane.Deployment, r *controlplane.Relocation) error {
	if r == nil {
		return nil
	}
	message := fmt.Sprintf("deployment %s is on its way to node %s", d.Name, r.Node)
	if r.Phase == controlplane.Clearing {
		message = fmt.Sprintf("deployment %s is still being cleared away on node %s", d.Name, r.Node)
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "moving", Message: message,
		Remedy: "Wait until that is done."}
}

// FinishMoves creates the deployments that have left their node on another one. It returns
// how many it created.
func (l *Lifecycle) FinishMoves(ctx context.Context, actor access.Actor) (made int, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	var moves []postgres.PendingMove
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		moves, err = tx.Moves().ListPending(ctx, movesAtOnce)
		return err
	})
	for _, m := range moves {
		one := l.createMoved(ctx, actor, m)
		if one == nil {
			made++
		}
		err = errors.Join(err, one)
	}
	return made, err
}

func (l *Lifecycle) createMoved(
	ctx context.Context,
	actor access.Actor,
	m postgres.PendingMove,
) error {
	var r Request
	if err := json.Unmarshal(m.Request, &r); err != nil {
		return fmt.Errorf("read what is made elsewhere: %w", err)
	}
	p, err := l.makePlan(ctx, actor, r)
	if err == nil {
		err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
			if err := tx.SetRequestID(ctx, m.RequestID); err != nil {
				return err
			}
			d, err := l.insertDeployment(ctx, tx, actor, r, p)
			if err != nil {
				return err
			}
			first, err := tx.Moves().End(ctx, m.Deployment, d.ID)
			if err != nil || !first {
				return errors.Join(err, errSomebodyWasFaster)
			}
			return inheritLife(ctx, tx, actor, m.Deployment, d.ID)
		})
	}
	if err == nil || errors.Is(err, errSomebodyWasFaster) {
		return nil
	}
	why := fmt.Errorf("make %s on another node: %w", r.Name, err)
	return errors.Join(why, l.store.InTx(ctx, func(tx *postgres.Tx) error {
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		if now.Sub(m.Since) > moveFor {
			_, err = tx.Moves().End(ctx, m.Deployment, "")
		}
		return errors.Join(err, tx.Deployments().SetDetail(ctx, m.Deployment, why.Error()))
	}))
}

// errSomebodyWasFaster rolls a transaction back after another replica has created the deployment;
// callers ignore it.
var errSomebodyWasFaster = errors.New("another replica created it")

// inheritLife copies hold and activity from the old deployment to the new one.
func inheritLife(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	from, to controlplane.DeploymentID) error {
	lives, err := tx.Lifetimes().ListOf(ctx, from)
	if err != nil {
		return err
	}
	if err := tx.Lifetimes().InheritSuccession(ctx, from, to); err != nil {
		return err
	}
	if h := lives[from].Hold; h != nil {
		if err := tx.Lifetimes().SetHold(ctx, to, h); err != nil {
			return err
		}
	}
	return tx.Lifetimes().AddActivity(ctx, to, controlplane.ActivityMoved, actor.Name())
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Offers is the handle for what reactive nodes were asked.
type Offers struct{ subject }

// Offers returns the handle in this transaction.
func (t *Tx) Offers() Offers { return Offers{t.subject()} }

// HasReactiveNodes reports whether an environment has nodes that have to be asked.
func (t Offers) HasReactiveNodes(
	ctx context.Context, env controlplane.EnvironmentID,
) (bool, error) {
	reactive, err := t.q.HasReactiveNodes(ctx, string(env))
	if err != nil {
		return false, fmt.Errorf("look for reactive nodes: %w", err)
	}
	return reactive, nil
}

// Put asks a node, and reserves what the deployment needs until the offer expires. The caller
// must hold the locks of the environment's nodes.
func (t Offers) Put(ctx context.Context, o controlplane.Offer) error {
	what, err := encodeJSON(o.Deployment)
	if err != nil {
		return err
	}
	gpus := o.GPUs
	if gpus == nil {
		gpus = []string{}
	}
	n, err := t.q.PutOffer(ctx, dbsqlc.PutOfferParams{ID: string(o.ID), NodeID: string(o.NodeID),
		RunID: nullIfEmpty(o.Run), Deployment: what, Cpu: o.Reserved.CPU,
		MemoryMib: int64(o.Reserved.MemoryMiB), Gpus: gpus, VramMib: int64(o.VRAMMiB),
		Seconds: o.Within.Seconds()})
	if err == nil && n == 0 {
		err = errors.New("the run is offered to it already")
	}
	if err != nil {
		return fmt.Errorf("offer to node %s: %w", o.Node, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicOffer, string(o.NodeID))
	return nil
}

// ListOpen returns the open offers to the nodes that the holder commands.
func (t Offers) ListOpen(ctx context.Context, holder string) ([]controlplane.Offer, error) {
	rows, err := t.q.ListOpenOffers(ctx, holder)
	if err != nil {
		return nil, fmt.Errorf("list open offers: %w", err)
	}
	all := make([]controlplane.Offer, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Offer{ID: controlplane.OfferID(r.ID),
			NodeID: controlplane.NodeID(r.NodeID), Status: controlplane.OfferOpen,
			Within: time.Duration(r.Seconds * float64(time.Second))}
		if err := decodeJSON(r.Deployment, &all[i].Deployment); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// GetStatus returns an offer's status and reason, and whether its time is over.
func (t Offers) GetStatus(
	ctx context.Context, id controlplane.OfferID,
) (o controlplane.Offer, err error) {
	r, err := t.q.GetOffer(ctx, string(id))
	if err != nil {
		return o, fmt.Errorf("read offer: %w", translateMissing(err, "offer", string(id)))
	}
	return controlplane.Offer{ID: id, Status: controlplane.OfferStatus(r.Status),
		Reason: r.Reason, Expired: r.Expired}, nil
}

// Claim stores that a node takes what it was offered, and holds the room for that long. A
// claim that comes too late changes nothing.
func (t Offers) Claim(ctx context.Context, id controlplane.OfferID, node controlplane.NodeID,
	hold time.Duration) error {
	deployment, err := t.q.ClaimOffer(ctx, hold.Seconds(), string(id), string(node))
	return t.notifyAnswer("claim offer", deployment, err)
}

// Decline stores that a node does not take what it was offered or claimed.
func (t Offers) Decline(ctx context.Context, id controlplane.OfferID, node controlplane.NodeID,
	reason string) error {
	deployment, err := t.q.DeclineOffer(ctx, reason, string(id), string(node))
	return t.notifyAnswer("decline offer", deployment, err)
}

// notifyAnswer wakes the queue, if that is where the offer came from.
func (t Offers) notifyAnswer(what, deployment string, err error) error {
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", what, translateError(err))
	case deployment != "":
		t.tx.NotifyOnCommit(controlplane.TopicDeployment, deployment)
	}
	return nil
}

// Take ends a claim: the deployment goes there. It reports false if the claim is over.
func (t Offers) Take(ctx context.Context, id controlplane.OfferID) (bool, error) {
	n, err := t.q.TakeOffer(ctx, string(id))
	if err != nil {
		return false, fmt.Errorf("take offer: %w", translateError(err))
	}
	return n > 0, nil
}

// Withdraw ends an offer that nobody waits for.
func (t Offers) Withdraw(ctx context.Context, id controlplane.OfferID) error {
	if err := t.q.WithdrawOffer(ctx, string(id)); err != nil {
		return fmt.Errorf("withdraw offer: %w", translateError(err))
	}
	return nil
}

// Attach notes for which run a request made these offers.
func (t Offers) Attach(
	ctx context.Context, run controlplane.RunID, ids []controlplane.OfferID,
) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.q.AttachOffers(ctx, string(run), toStrings(ids)); err != nil {
		return fmt.Errorf("attach offers to run %s: %w", run, translateError(err))
	}
	return nil
}

// ListQueued returns the offers of an environment's queued runs.
func (t Offers) ListQueued(
	ctx context.Context, env controlplane.EnvironmentID,
) ([]controlplane.Offer, error) {
	rows, err := t.q.ListQueuedOffers(ctx, string(env))
	if err != nil {
		return nil, fmt.Errorf("list offers of the queue: %w", err)
	}
	all := make([]controlplane.Offer, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Offer{ID: controlplane.OfferID(r.ID), Node: r.Node,
			NodeID: controlplane.NodeID(r.NodeID), Run: controlplane.RunID(r.RunID),
			Status: controlplane.OfferStatus(r.Status), Reason: r.Reason, GPUs: r.Gpus,
			Expired: r.Expired, Due: r.Due}
	}
	return all, nil
}

// ListOf returns what nodes answered that were asked for some runs, by run.
func (t Offers) ListOf(
	ctx context.Context, runs ...controlplane.RunID,
) (map[controlplane.RunID][]controlplane.Offer, error) {
	rows, err := t.q.ListOffersOf(ctx, toStrings(runs))
	if err != nil {
		return nil, fmt.Errorf("list offers: %w", err)
	}
	all := map[controlplane.RunID][]controlplane.Offer{}
	for _, r := range rows {
		run := controlplane.RunID(r.RunID)
		all[run] = append(all[run], controlplane.Offer{ID: controlplane.OfferID(r.ID), Run: run,
			Node: r.Node, NodeID: controlplane.NodeID(r.NodeID),
			Status: controlplane.OfferStatus(r.Status), Reason: r.Reason, ChangedAt: r.ChangedAt})
	}
	return all, nil
}

// DeleteOld deletes what requests left behind whose control plane died.
func (t Offers) DeleteOld(ctx context.Context) (int64, error) {
	n, err := t.q.DeleteOldOffers(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete old offers: %w", translateError(err))
	}
	return n, nil
}

// addOffers counts what is promised to deployments whose node has to be asked first.
func (t Placement) addOffers(ctx context.Context, env controlplane.EnvironmentID,
	nodes map[controlplane.NodeID]*PlacementNode) error {
	rows, err := t.q.ListReservedOffers(ctx, string(env))
	if err != nil {
		return fmt.Errorf("list reserved offers: %w", err)
	}
	for _, r := range rows {
		n := nodes[controlplane.NodeID(r.NodeID)]
		if n == nil {
			continue
		}
		n.Reserved.CPU += r.Cpu
		n.Reserved.MemoryMiB += int(r.MemoryMib)
		n.GPUs = append(n.GPUs, r.Gpus...)
		n.VRAMMiB += r.VramMib
		n.Deployments++
		n.Runs++
	}
	return nil
}

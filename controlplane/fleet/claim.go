package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
)

const (
	// dialsAtOnce is how many nodes are being reached: enough that some dead ones
	// in front do not hold up the others.
	dialsAtOnce = 128
	// begunAtOnce bounds one question to the database.
	begunAtOnce = 256
	// settledAtOnce bounds what nodes that come back write at once: it leaves
	// connections to the database for leases, which cannot wait, and for people.
	settledAtOnce = 4
)

// sessionBeginning is what a session begins with.
type sessionBeginning struct {
	SessionStart
	// leased is when the lease was taken.
	leased time.Time
}

// withDBSlot does something with the database when it is this node's turn to.
func (f *Fleet) withDBSlot(ctx context.Context, do func() error) error {
	select {
	case f.settling <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-f.settling }()
	return do()
}

// leaseClaim asks for a beginning.
type leaseClaim struct {
	id     controlplane.NodeID
	answer chan<- leaseClaimResult
}

type leaseClaimResult struct {
	sessionBeginning
	err error
}

// claimNode acquires the lease of a node and reads what is needed to connect to it.
// Concurrent calls share one database query.
func (f *Fleet) claimNode(ctx context.Context, id controlplane.NodeID) (sessionBeginning, error) {
	answer := make(chan leaseClaimResult, 1)
	select {
	case f.applications <- leaseClaim{id, answer}:
	case <-ctx.Done():
		return sessionBeginning{}, context.Cause(ctx)
	}
	select {
	case a := <-answer:
		return a.sessionBeginning, a.err
	case <-ctx.Done():
		return sessionBeginning{}, context.Cause(ctx)
	}
}

// answerAll answers applications until the context ends.
func (f *Fleet) answerAll(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-f.applications:
			f.answerClaims(ctx, f.gatherClaims(first))
		}
	}
}

// gatherClaims takes the claims that wait already, up to begunAtOnce.
func (f *Fleet) gatherClaims(first leaseClaim) map[controlplane.NodeID]leaseClaim {
	all := map[controlplane.NodeID]leaseClaim{first.id: first}
	for len(all) < begunAtOnce {
		select {
		case a := <-f.applications:
			all[a.id] = a
		default:
			return all
		}
	}
	return all
}

func (f *Fleet) answerClaims(ctx context.Context, all map[controlplane.NodeID]leaseClaim) {
	ids := make([]controlplane.NodeID, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	began := time.Now()
	found, err := f.Nodes.BeginSessions(ctx, ids, f.Holder)
	for id, a := range all {
		b, ok := found[id]
		why := err
		if why == nil && !ok {
			why = errElsewhere
		}
		if ctx.Err() != nil {
			why = errors.Join(context.Cause(ctx), why)
		}
		a.answer <- leaseClaimResult{sessionBeginning{SessionStart: b, leased: began}, why}
	}
}

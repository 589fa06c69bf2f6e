package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// offerWithin is how long a node may take to answer.
	offerWithin = 20 * time.Second
	// claimFor is how long a claim holds its room until the deployment is stored.
	claimFor = 30 * time.Second
	// askTotal bounds how long one request asks one node after the other.
	askTotal = 45 * time.Second
	// answerPoll is how often an answer is looked for: it may have come to another replica.
	answerPoll = 100 * time.Millisecond
)

// nodeAnswers is what nodes answered that one request asked.
type nodeAnswers struct {
	// claim is the offer that node has claimed; both are empty if no node had to be asked.
	claim controlplane.OfferID
	node  string
	// declined has the reasons of the others by node, asked all offers.
	declined map[string]string
	asked    []controlplane.OfferID
}

// nodeQuestion is what nodes are asked for a request that does not wait in the queue.
type nodeQuestion struct {
	deployment controlplane.Deployment
	user       string
	plan       plan
	// check, if set, fails for what would be refused anyway; then no node is asked.
	check func(context.Context, *postgres.Tx) error
}

// askNodes asks the nodes that placement chooses until one of them claims the deployment, or
// placement chooses one that need not be asked. No transaction is open while a node thinks:
// its room is reserved by the offer, which expires.
func (l *Lifecycle) askNodes(ctx context.Context, q nodeQuestion) (a nodeAnswers, err error) {
	var reactive bool
	err = l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		reactive, err = tx.Offers().HasReactiveNodes(ctx, q.plan.env.ID)
		return err
	})
	if err != nil || !reactive {
		return a, err
	}
	a.declined = map[string]string{}
	began := time.Now()
	for {
		var o *controlplane.Offer
		q.plan.ask.Declined, q.plan.ask.NoQuestions = a.declined, time.Since(began) > askTotal
		err := l.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
			o, err = reserveOffer(ctx, tx, q)
			return err
		})
		if err != nil || o == nil {
			return a, l.countRefusals(err)
		}
		a.asked = append(a.asked, o.ID)
		answer, err := l.awaitAnswer(ctx, *o)
		if err != nil {
			l.withdrawOffer(ctx, o.ID)
			return a, err
		}
		if answer.Status == controlplane.OfferClaimed {
			a.claim, a.node = o.ID, string(o.NodeID)
			return a, nil
		}
		a.declined[string(o.NodeID)] = answer.Reason
	}
}

// reserveOffer chooses a node, and makes an offer if it has to be asked.
func reserveOffer(
	ctx context.Context, tx *postgres.Tx, q nodeQuestion,
) (*controlplane.Offer, error) {
	if q.check != nil {
		if err := q.check(ctx, tx); err != nil {
			return nil, err
		}
	}
	nodes, err := tx.Placement().LockNodes(ctx, q.plan.env.ID)
	if err != nil {
		return nil, err
	}
	all, err := withQueue(ctx, tx, q.plan.env.ID, nodes)
	if err != nil {
		return nil, err
	}
	node, refused := ChooseNode(all, q.plan.ask)
	switch {
	case node.ID == "":
		return nil, explainNoRoom(ctx, tx, q.plan.actor, q.plan.env, all, q.plan.ask,
			refused)
	case !mustAsk(node, q.plan.ask):
		return nil, nil
	}
	o := newOffer(node, q.plan.ask,
		describeOffer(q.deployment, q.user, q.plan.pipeline, q.plan.ask))
	return &o, tx.Offers().Put(ctx, o)
}

// awaitAnswer returns the offer once it is claimed or declined. No answer is a decline.
func (l *Lifecycle) awaitAnswer(
	ctx context.Context, o controlplane.Offer,
) (now controlplane.Offer, err error) {
	ticker := time.NewTicker(answerPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return now, context.Cause(ctx)
		case <-ticker.C:
		}
		err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
			now, err = tx.Offers().GetStatus(ctx, o.ID)
			return err
		})
		switch {
		case controlplane.KindOf(err) == controlplane.NotFound:
			return controlplane.Offer{Status: controlplane.OfferDeclined,
				Reason: "the node was removed"}, nil
		case err != nil:
			return now, err
		case now.Status == controlplane.OfferOpen && now.Expired:
			now.Status, now.Reason = controlplane.OfferDeclined, expiredReason(now.Status)
			return now, l.store.InTx(ctx, func(tx *postgres.Tx) error {
				return tx.Offers().Decline(ctx, o.ID, o.NodeID, now.Reason)
			})
		case now.Status != controlplane.OfferOpen:
			return now, nil
		}
	}
}

// withdrawOffer gives back the room of an offer, also for a caller who has gone.
func (l *Lifecycle) withdrawOffer(ctx context.Context, id controlplane.OfferID) {
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := l.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Offers().Withdraw(ctx, id) })
	if err != nil {
		l.log.WarnContext(ctx, "an offer was not withdrawn; it expires", "offer_id", id, "error", err)
	}
}

// takeClaim ends the claim that a request was given, so that the deployment itself can have
// its room.
func takeClaim(ctx context.Context, tx *postgres.Tx, a nodeAnswers) error {
	if a.claim == "" {
		return nil
	}
	taken, err := tx.Offers().Take(ctx, a.claim)
	if err != nil || taken {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "claim_over",
		Message: "a node claimed the deployment, and the claim ended before it was stored",
		Remedy:  "Try again.", RetryAfter: sizeReportWait}
}

// OpenOffers returns the offers that the agents have to be asked whose nodes the holder
// commands.
func (l *Lifecycle) OpenOffers(
	ctx context.Context, actor access.Actor, holder string,
) (all []controlplane.Offer, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Offers().ListOpen(ctx, holder)
		return err
	})
	return all, err
}

// OfferAnswer is what a node says to an offer.
type OfferAnswer struct {
	Offer  controlplane.OfferID
	Node   controlplane.NodeID
	Claim  bool
	Reason string
}

// AnswerOffer stores what a node answered. An answer that nobody waits for any more, or to
// another node's offer, changes nothing.
func (l *Lifecycle) AnswerOffer(ctx context.Context, actor access.Actor, a OfferAnswer) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if !controlplane.ValidID(string(a.Offer)) {
		return errors.New("answer an offer: the agent names no offer of ours")
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		if a.Claim {
			return tx.Offers().Claim(ctx, a.Offer, a.Node, claimFor)
		}
		return tx.Offers().Decline(ctx, a.Offer, a.Node, controlplane.CleanOfferReason(a.Reason))
	})
}

// ForgetOffers deletes what requests left behind whose control plane died.
func (l *Lifecycle) ForgetOffers(ctx context.Context, actor access.Actor) (n int64, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		n, err = tx.Offers().DeleteOld(ctx)
		return err
	})
	return n, err
}

package agent

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// offersWaiting bounds the offers that wait for a decision, and offersAtOnce the decisions
	// that are made at the same time.
	offersWaiting = 64
	offersAtOnce  = 8
	// offerMargin is what remains of an offer's time for the way of the answer.
	offerMargin = time.Second
)

// receivedOffer is an offer, and until when it can be answered.
type receivedOffer struct {
	wire.Offer
	until time.Time
}

// queueOffer never waits: the session has other commands to receive.
func (o *sender) queueOffer(ctx context.Context, c wire.Offer) error {
	until := time.Now().Add(time.Duration(c.Seconds)*time.Second - offerMargin)
	select {
	case o.offers <- receivedOffer{c, until}:
		return nil
	default:
		return o.session.Send(ctx, wire.OfferAnswer{ID: c.ID,
			Reason: "too many deployments are offered to the node at once"})
	}
}

// answerOffers has the site decide about one offer after the other. What is undecided when the
// session ends is offered again in the next one.
func (o *sender) answerOffers(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(offersAtOnce)
	for {
		select {
		case c := <-o.offers:
			group.Go(func() error { return o.answerOffer(ctx, c) })
		case <-ctx.Done():
			_ = group.Wait()
			return context.Cause(ctx)
		}
	}
}

func (o *sender) answerOffer(ctx context.Context, c receivedOffer) error {
	document, err := json.Marshal(struct {
		ID         string          `json:"id"`
		Deadline   time.Time       `json:"deadline"`
		Deployment json.RawMessage `json:"deployment"`
	}{c.ID, c.until.UTC(), c.Deployment})
	if err != nil {
		return err
	}
	decided, cancel := context.WithDeadline(ctx, c.until)
	defer cancel()
	d := o.sessions.config.Offers.Decide(decided, document)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o.sessions.log.Info("offer answered", "offer_id", c.ID, "claim", d.Claim, "reason", d.Reason)
	return o.session.Send(ctx, wire.OfferAnswer{ID: c.ID, Claim: d.Claim, Reason: d.Reason})
}

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// watchOffers hands open offers to the sessions of their nodes. An offer to a node without a
// session waits for one until it expires.
func (r *sessionSet) watchOffers(ctx context.Context) error {
	wake := r.Listener.Subscribe("", controlplane.TopicOffer)
	defer wake.Close()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		open, err := r.Lifecycle.OpenOffers(ctx, r.actor, r.Holder)
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "offers could not be read", "error", err)
		}
		for _, o := range open {
			if s := r.get(o.NodeID); s != nil {
				s.queueOffer(o)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake.Wake:
		case <-ticker.C:
		}
	}
}

// queueOffer has the session send an offer, once.
func (s *session) queueOffer(o controlplane.Offer) {
	s.mu.Lock()
	known := s.offered[o.ID]
	if !known {
		if s.offered == nil {
			s.offered = map[controlplane.OfferID]bool{}
		}
		s.offered[o.ID] = true
		s.offers = append(s.offers, o)
	}
	s.mu.Unlock()
	if !known {
		s.startTask(&s.offering, s.sendOffers, func() bool { return len(s.offers) > 0 })
	}
}

// sendOffers sends the agent what waits. An agent that does not know offers declines.
func (s *session) sendOffers(ctx context.Context) error {
	s.mu.Lock()
	waiting := s.offers
	s.offers = nil
	s.mu.Unlock()
	for _, o := range waiting {
		if !s.answersOffers {
			err := s.storeOfferAnswer(ctx, wire.OfferAnswer{ID: string(o.ID),
				Reason: "its agent does not know offers; upgrade it"})
			if err != nil {
				return err
			}
			continue
		}
		what, err := json.Marshal(o.Deployment)
		if err != nil {
			return fmt.Errorf("write offer: %w", err)
		}
		err = s.conn.Send(ctx, wire.Offer{ID: string(o.ID), Seconds: max(1, int(o.Within.Seconds())),
			Deployment: what})
		if err != nil {
			return err
		}
	}
	return nil
}

// storeOfferAnswer stores what the agent answered. If that fails, the agent is asked again
// while the offer is open.
func (s *session) storeOfferAnswer(ctx context.Context, a wire.OfferAnswer) error {
	id := controlplane.OfferID(a.ID)
	err := s.Lifecycle.AnswerOffer(ctx, s.actor, lifecycle.OfferAnswer{Offer: id,
		Node: s.link.Node.ID, Claim: a.Claim, Reason: a.Reason})
	s.mu.Lock()
	delete(s.offered, id)
	s.mu.Unlock()
	return s.mayFail(ctx, "answer to an offer", err)
}

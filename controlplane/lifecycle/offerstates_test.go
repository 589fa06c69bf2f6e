package lifecycle_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// The database moves an offer as its table of states says, and not otherwise.
func TestOffer_StatesFollowTheTable(t *testing.T) {
	r := reactiveRig(t)
	id, node := controlplane.NewID[controlplane.OfferID](), r.nodeID("site-a")
	pgtest.Exec(t, r.url, `INSERT INTO offers (id, node_id, deployment, cpu, memory_mib, expires_at)
		VALUES ($1, $2, '{}', 1, 64, now() + interval '1 hour')`, id, node)
	all := []controlplane.OfferStatus{controlplane.OfferOpen, controlplane.OfferClaimed,
		controlplane.OfferDeclined, controlplane.OfferTaken, controlplane.OfferWithdrawn}
	moves := map[controlplane.OfferStatus]func(postgres.Offers) error{
		controlplane.OfferClaimed: func(o postgres.Offers) error {
			return o.Claim(t.Context(), id, node, time.Minute)
		},
		controlplane.OfferDeclined: func(o postgres.Offers) error {
			return o.Decline(t.Context(), id, node, "no")
		},
		controlplane.OfferTaken: func(o postgres.Offers) error {
			_, err := o.Take(t.Context(), id)
			return err
		},
		controlplane.OfferWithdrawn: func(o postgres.Offers) error {
			return o.Withdraw(t.Context(), id)
		},
	}
	for _, from := range all {
		for to, move := range moves {
			pgtest.Exec(t, r.url, "UPDATE offers SET status = $1", from)
			r.failOnError(nil, r.store.InTx(t.Context(), func(tx *postgres.Tx) error {
				return move(tx.Offers())
			}))
			got := controlplane.OfferStatus(pgtest.QueryValue[string](t, r.url,
				"SELECT status FROM offers"))
			if moved := got != from; moved != from.CanMove(to) || moved && got != to {
				t.Errorf("from %s to %s: it is %s", from, to, got)
			}
		}
	}
}

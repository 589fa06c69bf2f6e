package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// leaseFor is how long a control plane that died keeps a node to itself
// (faults.md, rule 6). The database's clock counts.
const leaseFor = 10 * time.Second

// Table is Nodes on the database.
type Table struct {
	Store *postgres.Store
	// OpenKey opens the key of a node's token, which the catalogue sealed.
	OpenKey func(controlplane.NodeToken) ([]byte, error)
}

var _ Nodes = Table{}

// Enabled implements Nodes. A disabled node and one whose certificate changed
// wait for a person.
func (t Table) Enabled(ctx context.Context) (ids []controlplane.NodeID, err error) {
	const page = 500
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		for after := ""; ; {
			nodes, err := tx.ListNodes(ctx, after, page)
			if err != nil {
				return err
			}
			for _, n := range nodes {
				after = n.Name
				if !waitsForPerson(n.Status) {
					ids = append(ids, n.ID)
				}
			}
			if len(nodes) < page {
				return nil
			}
		}
	})
	return ids, err
}

func waitsForPerson(s controlplane.NodeStatus) bool {
	return s == controlplane.NodeDisabled || s == controlplane.NodeUntrusted
}

// Link implements Nodes.
func (t Table) Link(ctx context.Context, id controlplane.NodeID) (l Link, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		if l.Node, err = tx.NodeByID(ctx, id); err != nil {
			return err
		}
		pending, err := tx.PendingRevocations(ctx, id)
		if err != nil {
			return err
		}
		for _, p := range pending {
			l.Refuse = append(l.Refuse, p.Kid)
		}
		token, ok, err := tx.ActiveToken(ctx, id)
		if err != nil || !ok {
			return err
		}
		raw, err := t.OpenKey(token)
		if err != nil {
			return fmt.Errorf("open key of node %s: %w", l.Node.Name, err)
		}
		defer clear(raw)
		l.Kid = token.Kid
		l.Key, err = wire.KeyFromBytes(raw)
		return err
	})
	return l, err
}

// Epoch implements Nodes.
func (t Table) Epoch(ctx context.Context, id controlplane.NodeID) (epoch int64, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		epoch, err = tx.Epoch(ctx, id)
		return err
	})
	return epoch, err
}

// Lease implements Nodes.
func (t Table) Lease(
	ctx context.Context, id controlplane.NodeID, holder string,
) (epoch int64, err error) {
	err = t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		lease, ok, err := tx.AcquireLease(ctx, id, holder, leaseFor)
		epoch = 0
		if ok {
			epoch = lease.Epoch
		}
		return err
	})
	return epoch, err
}

// Online implements Nodes. First contact stores the thumbprint it proved.
func (t Table) Online(ctx context.Context, id controlplane.NodeID, thumbprint, build string,
	inventory controlplane.Inventory) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		trusted, err := tx.TrustNode(ctx, id, controlplane.Thumbprint(thumbprint))
		if err != nil {
			return err
		}
		if !trusted {
			return fmt.Errorf("node %s has another thumbprint by now", id)
		}
		if err := tx.SetInventory(ctx, id, build, inventory); err != nil {
			return err
		}
		moved, err := tx.MoveNode(ctx, id, controlplane.NodeOnline, "")
		if err == nil && !moved {
			return fmt.Errorf("node %s waits for a person", id)
		}
		return errors.Join(err, tellDeployments(ctx, tx, id))
	})
}

// tellDeployments makes every deployment on the node a change: whether its node
// is there is part of what people see of it.
func tellDeployments(ctx context.Context, tx *postgres.Tx, id controlplane.NodeID) error {
	orders, err := tx.Orders(ctx, id)
	if err != nil {
		return err
	}
	for _, o := range orders {
		d := controlplane.Deployment{ID: o.Deployment}
		_, err := tx.AddHistory(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
		if err != nil {
			return err
		}
	}
	return nil
}

// Offline implements Nodes. A node that waits for its agent goes on waiting:
// nothing is lost yet.
func (t Table) Offline(ctx context.Context, id controlplane.NodeID, detail string) error {
	return t.move(ctx, id, controlplane.NodeOffline, detail, nil)
}

// Untrusted implements Nodes. The node's connections end here until a person
// has looked at the certificate.
func (t Table) Untrusted(
	ctx context.Context, id controlplane.NodeID, got string, proofValid bool,
) error {
	detail := "its certificate changed and proved the token: compare the thumbprint, then approve"
	if !proofValid {
		detail = "its certificate changed and did NOT prove the token: enrol it with a new one"
	}
	return t.move(ctx, id, controlplane.NodeUntrusted, detail, func(tx *postgres.Tx) error {
		return tx.SetPending(ctx, id, controlplane.Thumbprint(got), proofValid)
	})
}

// Incompatible implements Nodes.
func (t Table) Incompatible(
	ctx context.Context, id controlplane.NodeID, build, detail string,
) error {
	return t.move(ctx, id, controlplane.NodeIncompatible, detail, func(tx *postgres.Tx) error {
		return tx.SetBuild(ctx, id, build)
	})
}

// move changes the status of a node that does not wait for a person. One that
// does, or that is gone, is left as it is.
func (t Table) move(ctx context.Context, id controlplane.NodeID, to controlplane.NodeStatus,
	detail string, also func(*postgres.Tx) error) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		n, err := tx.NodeByID(ctx, id)
		if controlplane.KindOf(err) == controlplane.NotFound {
			return nil
		}
		if n.Status == controlplane.NodeEnrolled && to == controlplane.NodeOffline {
			to = controlplane.NodeEnrolled
		}
		if err != nil || waitsForPerson(n.Status) || n.Status == to && n.Detail == detail {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		if _, err := tx.MoveNode(ctx, id, to, detail); err != nil || n.Status == to {
			return err
		}
		return tellDeployments(ctx, tx, id)
	})
}

// Refused implements Nodes.
func (t Table) Refused(ctx context.Context, id controlplane.NodeID, kid string) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.ConfirmRevocation(ctx, id, kid)
	})
}

// Vitals implements Nodes.
func (t Table) Vitals(
	ctx context.Context, id controlplane.NodeID, v controlplane.NodeVitals,
) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error { return tx.SetVitals(ctx, id, v) })
}

// PluginImages implements Nodes.
func (t Table) PluginImages(
	ctx context.Context,
) (images map[string]pipeline.Image, err error) {
	images = map[string]pipeline.Image{}
	const page = 500
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		for after := ""; ; {
			plugins, err := tx.ListPlugins(ctx, after, page)
			if err != nil {
				return err
			}
			for _, p := range plugins {
				after = p.Name
				images[p.Name] = *p.Reference()
			}
			if len(plugins) < page {
				return nil
			}
		}
	})
	return images, err
}

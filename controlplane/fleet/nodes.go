package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// leaseFor is how long a node stays with a control plane that died, until another replica may take
// it. The database's clock counts.
const leaseFor = 10 * time.Second

// NodeTable is Nodes on the database.
type NodeTable struct {
	Store *postgres.Store
	// OpenKey opens the key of a node's token, which the catalogue sealed.
	OpenKey func(controlplane.NodeToken) ([]byte, error)
	// DeriveKey makes the key from the name of the token instead, for a process that cannot
	// read tokens: the ingress.
	DeriveKey func(kid string) []byte
	// Holder names this process in leases. What it writes about a node counts only while
	// it has the node's lease: a process that was suspended must not mark a node offline
	// that another control plane is connected to.
	Holder string
}

var _ Nodes = NodeTable{}

// ListEnabled implements Nodes. A disabled node and one whose certificate changed
// wait for a person.
func (t NodeTable) ListEnabled(ctx context.Context, holder, known string) (
	ids []controlplane.NodeID, of string, err error) {
	var nodes map[controlplane.NodeID]controlplane.NodeStatus
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		nodes, of, err = tx.Leases().ListLeasable(ctx, holder, known, leaseFor)
		return err
	})
	for id, status := range nodes {
		if !waitsForPerson(status) {
			ids = append(ids, id)
		}
	}
	return ids, of, err
}

func waitsForPerson(s controlplane.NodeStatus) bool {
	return s == controlplane.NodeDisabled || s == controlplane.NodeUntrusted
}

// GetLink implements Nodes.
func (t NodeTable) GetLink(ctx context.Context, id controlplane.NodeID) (l NodeLink, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		if l.Node, err = tx.Nodes().ByID(ctx, id); err != nil {
			return err
		}
		if l.Refuse, err = tx.NodeTokens().ListPendingRevocationKids(ctx, id); err != nil {
			return err
		}
		c, err := t.loadCredential(ctx, tx, id)
		if err != nil {
			return fmt.Errorf("open key of node %s: %w", l.Node.Name, err)
		}
		l.Kid, l.Key = c.Kid, c.Key
		return nil
	})
	return l, err
}

// loadCredential returns what proves this process to the node, or nothing if the node has no
// token.
func (t NodeTable) loadCredential(ctx context.Context, tx *postgres.Tx, id controlplane.NodeID) (
	Credential, error) {
	if t.DeriveKey == nil {
		token, ok, err := tx.NodeTokens().GetActive(ctx, id)
		if err != nil || !ok {
			return Credential{}, err
		}
		return t.openCredential(token)
	}
	kid, err := tx.NodeTokens().GetActiveKid(ctx, id)
	if err != nil || kid == "" {
		return Credential{}, err
	}
	return newCredential(kid, t.DeriveKey(kid))
}

// Epoch implements Nodes.
func (t NodeTable) Epoch(ctx context.Context, id controlplane.NodeID) (epoch int64, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		epoch, err = tx.Leases().GetEpoch(ctx, id)
		return err
	})
	return epoch, err
}

// BeginSessions implements Nodes.
func (t NodeTable) BeginSessions(ctx context.Context, ids []controlplane.NodeID, holder string) (
	all map[controlplane.NodeID]SessionStart, err error) {
	err = t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		epochs, err := tx.Leases().Acquire(ctx, ids, holder, leaseFor)
		if err != nil {
			return err
		}
		found, err := tx.NodeSessions().ListStarts(ctx, ids)
		if err != nil {
			return err
		}
		digests, err := tx.NodeSessions().ListDigestsOf(ctx, holder, ids)
		if err != nil {
			return err
		}
		all = make(map[controlplane.NodeID]SessionStart, len(found))
		for id, f := range found {
			if epochs[id] == 0 {
				continue
			}
			b := SessionStart{NodeLink: NodeLink{Node: f.Node, Refuse: f.Refuse}, Epoch: epochs[id],
				LastReport: f.LastReport, Busy: f.Busy, Digest: digests[id]}
			if f.Token.Kid != "" {
				c, err := t.openCredential(f.Token)
				if err != nil {
					return fmt.Errorf("open key of node %s: %w", f.Node.Name, err)
				}
				b.Kid, b.Key = c.Kid, c.Key
			}
			all[id] = b
		}
		return nil
	})
	return all, err
}

// RenewLeases implements Nodes.
func (t NodeTable) RenewLeases(ctx context.Context, ids []controlplane.NodeID, holder string) (
	lost, busy []controlplane.NodeID, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	err = t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		lost, busy, err = tx.Leases().Renew(ctx, ids, holder, leaseFor)
		return err
	})
	return lost, busy, err
}

// Digests implements Nodes.
func (t NodeTable) Digests(ctx context.Context, holder, known string) (
	all map[controlplane.NodeID]string, of string, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		all, of, err = tx.NodeSessions().ListDigests(ctx, holder, known)
		return err
	})
	return all, of, err
}

// ReleaseLease implements Nodes.
func (t NodeTable) ReleaseLease(ctx context.Context, id controlplane.NodeID, holder string) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		tx.NotifyOnCommit(controlplane.TopicNode, string(id))
		return tx.Leases().Release(ctx, id, holder)
	})
}

// RecordContact implements Nodes. First contact stores the thumbprint it proved.
func (t NodeTable) RecordContact(
	ctx context.Context,
	id controlplane.NodeID,
	thumbprint, build string,
	inventory controlplane.Inventory,
) error {
	print := controlplane.Thumbprint(thumbprint)
	return t.updateLeased(ctx, id, func(tx *postgres.Tx, n controlplane.Node) error {
		if n.Thumbprint == "" {
			if err := trustCertificate(ctx, tx, n, print); err != nil {
				return err
			}
		} else if n.Thumbprint != print {
			return fmt.Errorf("node %s has another thumbprint by now", n.Name)
		}
		inventory.CarryAlarms(n.Inventory)
		return tx.Nodes().SetInventory(ctx, id, build, inventory)
	})
}

// trustCertificate stores the certificate of first contact. Two nodes with the same
// one mean that a data folder was copied: we could not tell one from the other, so
// this fails.
func trustCertificate(
	ctx context.Context, tx *postgres.Tx, n controlplane.Node, print controlplane.Thumbprint,
) error {
	other, err := tx.NodeTrust().FindOtherNode(ctx, print, n.ID)
	if err != nil {
		return err
	}
	if other != "" {
		return fmt.Errorf("its certificate is that of node %s: was that machine or its data "+
			"folder copied? Empty the agent's data folder here and start it again", other)
	}
	trusted, err := tx.NodeTrust().Trust(ctx, n.ID, print)
	if err != nil {
		return err
	}
	if !trusted {
		return fmt.Errorf("node %s has another thumbprint by now", n.Name)
	}
	return tx.NodeEvents().Add(ctx, n.ID, controlplane.NodeMet, thumbprintOf(print))
}

func thumbprintOf(print controlplane.Thumbprint) string {
	return "its certificate is stored: " + string(print)
}

// MarkOnline implements Nodes.
func (t NodeTable) MarkOnline(ctx context.Context, id controlplane.NodeID) error {
	return t.updateLeased(ctx, id, func(tx *postgres.Tx, n controlplane.Node) error {
		if n.Status != controlplane.NodeOnline {
			err := tx.NodeEvents().Add(ctx, id, controlplane.NodeSynced,
				"goals and plugins are sent")
			if err != nil {
				return err
			}
		}
		moved, err := tx.Nodes().Move(ctx, id, controlplane.NodeOnline, "")
		if err == nil && !moved {
			return fmt.Errorf("node %s waits for a person", n.Name)
		}
		return errors.Join(err, tellDeployments(ctx, tx, id))
	})
}

// updateLeased changes a node while we hold its lease, and fails once we do not.
func (t NodeTable) updateLeased(ctx context.Context, id controlplane.NodeID,
	do func(*postgres.Tx, controlplane.Node) error) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if holds, err := tx.Leases().Lock(ctx, id, t.Holder); err != nil || !holds {
			return errors.Join(err, errElsewhere)
		}
		n, err := tx.Nodes().ByID(ctx, id)
		if err != nil {
			return err
		}
		return do(tx, n)
	})
}

// tellDeployments makes every deployment on the node a change: whether its node
// is there is part of what people see of it.
func tellDeployments(ctx context.Context, tx *postgres.Tx, id controlplane.NodeID) error {
	orders, err := tx.NodeSessions().ListGoals(ctx, id)
	if err != nil {
		return err
	}
	for _, o := range orders {
		d := controlplane.Deployment{ID: o.Deployment}
		_, err := tx.History().Add(ctx, d,
			controlplane.History{Kind: controlplane.HistoryDeployment})
		if err != nil {
			return err
		}
	}
	return nil
}

// MarkOffline implements Nodes. A node that never connected keeps its status enrolled.
func (t NodeTable) MarkOffline(ctx context.Context, id controlplane.NodeID, detail string) error {
	return t.setStatus(ctx, id, controlplane.NodeOffline, detail, nil)
}

// MarkUntrusted implements Nodes. The node's connections end here until a person
// has looked at the certificate.
func (t NodeTable) MarkUntrusted(
	ctx context.Context, id controlplane.NodeID, got string, proofValid bool,
) error {
	print := controlplane.Thumbprint(got)
	n, err := t.readNode(ctx, id)
	if err != nil {
		return err
	}
	if n.Rejected == print {
		return t.MarkOffline(ctx, id, "the certificate that was rejected still answers at its address: "+
			"start the agent with its old data folder, or rotate the token to enrol it anew")
	}
	detail := "another certificate answers, and it proved the token: a new data folder, or the " +
		"token on a second machine? Compare the thumbprints, then approve or reject"
	proof := "token proof valid"
	if !proofValid {
		detail = "another certificate answers and did NOT prove the token: do not trust it; rotate " +
			"the token and enrol the node anew"
		proof = "token proof INVALID"
	}
	return t.setStatus(ctx, id, controlplane.NodeUntrusted, detail, func(tx *postgres.Tx) error {
		if err := tx.NodeTrust().SetPending(ctx, id, print, proofValid); err != nil {
			return err
		}
		entry := access.System("fleet").NewAuditEntry("distrust certificate", "node "+n.Name)
		entry.Result, entry.Detail = controlplane.AuditRefused, proof+" for "+got
		return tx.Audit().Insert(ctx, *entry)
	})
}

func (t NodeTable) readNode(
	ctx context.Context, id controlplane.NodeID,
) (n controlplane.Node, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		n, err = tx.Nodes().ByID(ctx, id)
		return err
	})
	return n, err
}

// MarkIncompatible implements Nodes.
func (t NodeTable) MarkIncompatible(
	ctx context.Context, id controlplane.NodeID, build, detail string,
) error {
	return t.setStatus(ctx, id, controlplane.NodeIncompatible, detail, func(tx *postgres.Tx) error {
		return tx.Nodes().SetBuild(ctx, id, build)
	})
}

// setStatus changes the status of a node unless it waits for a person's decision or is
// gone.
func (t NodeTable) setStatus(
	ctx context.Context,
	id controlplane.NodeID,
	to controlplane.NodeStatus,
	detail string,
	also func(*postgres.Tx) error,
) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if holds, err := tx.Leases().Lock(ctx, id, t.Holder); err != nil || !holds {
			return err
		}
		n, err := tx.Nodes().ByID(ctx, id)
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
		if _, err := tx.Nodes().Move(ctx, id, to, detail); err != nil || n.Status == to {
			return err
		}
		return tellDeployments(ctx, tx, id)
	})
}

// ListRevokedTokens implements Nodes.
func (t NodeTable) ListRevokedTokens(
	ctx context.Context, id controlplane.NodeID,
) (all []Credential, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		pending, err := tx.NodeTokens().ListPendingRevocations(ctx, id)
		if err != nil {
			return err
		}
		for _, token := range pending {
			c, err := t.openCredential(token)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

func (t NodeTable) openCredential(token controlplane.NodeToken) (Credential, error) {
	raw, err := t.OpenKey(token)
	if err != nil {
		return Credential{}, err
	}
	return newCredential(token.Kid, raw)
}

// newCredential clears the raw key that it is made from.
func newCredential(kid string, raw []byte) (Credential, error) {
	defer clear(raw)
	key, err := wire.KeyFromBytes(raw)
	return Credential{Kid: kid, Key: key}, err
}

// ConfirmRevocation implements Nodes.
func (t NodeTable) ConfirmRevocation(
	ctx context.Context,
	id controlplane.NodeID,
	kid string,
) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := tx.NodeTokens().ConfirmRevocation(ctx, id, kid); err != nil {
			return err
		}
		return tx.NodeEvents().Add(ctx, id, controlplane.NodeTokenRefused,
			"the agent refuses token "+kid+" from now on")
	})
}

// FinishDrains implements Nodes.
func (t NodeTable) FinishDrains(ctx context.Context) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Nodes().FinishDrains(ctx) })
}

// RecordInventory implements Nodes.
func (t NodeTable) RecordInventory(
	ctx context.Context, id controlplane.NodeID, inventory controlplane.Inventory,
) error {
	return t.updateLeased(ctx, id, func(tx *postgres.Tx, n controlplane.Node) error {
		inventory.CarryAlarms(n.Inventory)
		return tx.Nodes().SetInventory(ctx, id, n.Build, inventory)
	})
}

// PluginImages implements Nodes.
func (t NodeTable) PluginImages(
	ctx context.Context,
) (images map[string]pipeline.Image, err error) {
	images = map[string]pipeline.Image{}
	const page = 500
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		for after := ""; ; {
			plugins, err := tx.Plugins().List(ctx, after, page)
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

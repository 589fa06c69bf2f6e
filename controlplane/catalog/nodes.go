package catalog

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// NodePut is what an admin says about a new node.
type NodePut struct {
	Name        string
	Environment string
	// Address is host:port where the agent listens.
	Address string
	// Thumbprint is the expected certificate's, or empty.
	Thumbprint string
	Settings   controlplane.NodeSettings
}

// Enrolment is a node and its new token, which is shown once.
type Enrolment struct {
	Node  controlplane.Node
	Token controlplane.Plain
}

// ListNodes returns one page of nodes and the next page's cursor.
func (c *Catalog) ListNodes(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Node, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Nodes().List(ctx, p)
		return err
	})
	all, next = controlplane.CutPage(p, all, func(n controlplane.Node) string { return n.Name })
	return all, next, err
}

// GetNode loads one node.
func (c *Catalog) GetNode(
	ctx context.Context, actor access.Actor, name string,
) (n controlplane.Node, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return n, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		n, err = tx.Nodes().ByName(ctx, name)
		return err
	})
	return n, err
}

// AddNode adds a node and returns its token.
func (c *Catalog) AddNode(
	ctx context.Context, actor access.Actor, p NodePut,
) (out Enrolment, err error) {
	err = c.changeAsAdmin(ctx, actor, "add node", "node "+p.Name, func(tx *postgres.Tx) error {
		n, err := c.newNode(ctx, tx, p)
		if err != nil {
			return err
		}
		if err := tx.Nodes().Insert(ctx, n); err != nil {
			return err
		}
		out, err = c.issueNodeToken(ctx, tx, n.ID)
		return err
	})
	return out, err
}

func (c *Catalog) newNode(
	ctx context.Context, tx *postgres.Tx, p NodePut,
) (n controlplane.Node, err error) {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return n, err
	}
	address, err := c.checkAddress(p.Address)
	if err != nil {
		return n, err
	}
	n = controlplane.Node{
		ID: controlplane.NewID[controlplane.NodeID](), Name: p.Name, Address: address,
	}
	if n.Settings, err = p.Settings.Normalize(); err != nil {
		return n, err
	}
	if p.Thumbprint != "" {
		if n.Expected, err = controlplane.ParseThumbprint("thumbprint", p.Thumbprint); err != nil {
			return n, err
		}
	}
	e, err := tx.Environments().ByName(ctx, p.Environment)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return n, invalidError("environment", "unknown_environment",
			"environment "+controlplane.ClipText(p.Environment)+" does not exist",
			"Create the environment first, or correct the name.")
	}
	n.EnvironmentID = e.ID
	return n, err
}

// issueNodeToken replaces a node's active token by a new one.
func (c *Catalog) issueNodeToken(
	ctx context.Context, tx *postgres.Tx, id controlplane.NodeID,
) (out Enrolment, err error) {
	t, err := c.issueToken()
	if err != nil {
		return out, fmt.Errorf("issue token: %w", err)
	}
	defer clear(t.Key)
	sealed, err := c.keys.Seal(
		verifierPlace(controlplane.NodeToken{Kid: t.Kid, Node: id}), t.Key)
	if err != nil {
		return out, fmt.Errorf("seal token: %w", err)
	}
	if err := tx.NodeTokens().Insert(ctx, id, t.Kid, sealed); err != nil {
		return out, err
	}
	n, err := tx.Nodes().ByID(ctx, id)
	return Enrolment{Node: n, Token: t.Token}, err
}

// verifierPlace binds a token's key to the token and to its node.
func verifierPlace(t controlplane.NodeToken) seal.Location {
	return seal.Location{
		Table: "node_tokens", Row: t.Kid + "/" + string(t.Node), Column: "verifier",
		Label: "the token of node " + string(t.Node),
	}
}

// RemoveNode forgets a node without deployments.
func (c *Catalog) RemoveNode(ctx context.Context, actor access.Actor, name string) error {
	return c.changeAsAdmin(ctx, actor, "remove node", "node "+name, func(tx *postgres.Tx) error {
		n, err := tx.Nodes().ByName(ctx, name)
		if err != nil {
			return err
		}
		return tx.Nodes().Delete(ctx, n.ID)
	})
}

// onNode runs an admin's change of one node and returns the node after it.
func (c *Catalog) onNode(
	ctx context.Context, actor access.Actor, action, name string,
	fn func(*postgres.Tx, controlplane.Node) error,
) (out controlplane.Node, err error) {
	err = c.changeAsAdmin(ctx, actor, action, "node "+name, func(tx *postgres.Tx) error {
		n, err := tx.Nodes().ByName(ctx, name)
		if err != nil {
			return err
		}
		if err := fn(tx, n); err != nil {
			return err
		}
		out, err = tx.Nodes().ByName(ctx, name)
		return err
	})
	return out, err
}

// DisableNode stops placing on a node and disconnects it. Its deployments keep
// running.
func (c *Catalog) DisableNode(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return c.onNode(ctx, actor, "disable node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if !n.IsEnabled() {
				return nil
			}
			return moveNode(ctx, tx, n, controlplane.NodeDisabled, "disabled by "+actor.Name())
		})
}

// EnableNode enables a node. It counts as offline until it is connected, or as enrolled if it never
// was.
func (c *Catalog) EnableNode(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return c.onNode(ctx, actor, "enable node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if n.IsEnabled() {
				return nil
			}
			return moveNode(ctx, tx, n, undialedStatus(n), "enabled by "+actor.Name())
		})
}

// undialedStatus is the status of a node to which no connection was tried yet.
func undialedStatus(n controlplane.Node) controlplane.NodeStatus {
	if n.Thumbprint == "" {
		return controlplane.NodeEnrolled
	}
	return controlplane.NodeOffline
}

func moveNode(
	ctx context.Context, tx *postgres.Tx, n controlplane.Node, to controlplane.NodeStatus,
	detail string,
) error {
	moved, err := tx.Nodes().Move(ctx, n.ID, to, detail)
	if err == nil && !moved {
		return &controlplane.Error{
			Kind: controlplane.Conflict, Code: "not_allowed_now",
			Message: fmt.Sprintf("a node that is %s cannot become %s", n.Status, to),
			Remedy:  "Load the node again; somebody may have been faster.",
		}
	}
	return err
}

// ApproveNode trusts a changed certificate: exactly the one that the admin saw, and
// only if it proved the node's token.
func (c *Catalog) ApproveNode(
	ctx context.Context, actor access.Actor, name, thumbprint string,
) (controlplane.Node, error) {
	return c.onNode(ctx, actor, "approve node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			print, err := controlplane.ParseThumbprint("thumbprint", thumbprint)
			if err != nil {
				return err
			}
			if err := checkApprovable(n, print); err != nil {
				return err
			}
			approved, err := tx.NodeTrust().Approve(ctx, n.ID, print)
			if err != nil {
				return err
			}
			if !approved {
				return conflictError("thumbprint_changed",
					"the node answered with another certificate meanwhile", "Load the node again.")
			}
			err = tx.NodeEvents().Add(ctx, n.ID, controlplane.NodeApproved,
				string(print)+" by "+actor.Name())
			if err != nil {
				return err
			}
			if n.Status != controlplane.NodeUntrusted {
				return nil
			}
			return moveNode(ctx, tx, n, controlplane.NodeOffline, "approved by "+actor.Name())
		})
}

func checkApprovable(n controlplane.Node, print controlplane.Thumbprint) error {
	switch {
	case n.Pending == "":
		return conflictError("nothing_to_approve", "the node's certificate did not change",
			"Nothing needs to be done.")
	case n.Pending != print:
		return conflictError("thumbprint_changed",
			"the node answered with another certificate than this one",
			"Compare the thumbprint that the agent prints with the one shown here.")
	case !n.PendingProofValid:
		return conflictError("proof_invalid",
			"the new certificate did not prove the node's token, so it cannot be approved",
			"Make a new token and enrol the node again.")
	default:
		return nil
	}
}

func conflictError(code, message, remedy string) error {
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: code, Message: message, Remedy: remedy,
	}
}

// RotateToken replaces a node's token. The old one is invalid from now on; the agent
// is informed over its session, if there is one. A node that is not trusted enrols
// again with the new token.
func (c *Catalog) RotateToken(
	ctx context.Context, actor access.Actor, name string,
) (out Enrolment, err error) {
	_, err = c.onNode(ctx, actor, "rotate token", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if err := revokeTokens(ctx, tx, n); err != nil {
				return err
			}
			if n.Status == controlplane.NodeUntrusted {
				if err := tx.NodeTrust().Clear(ctx, n.ID); err != nil {
					return err
				}
				err := moveNode(ctx, tx, n, controlplane.NodeEnrolled, "new token by "+actor.Name())
				if err != nil {
					return err
				}
			}
			if err := tx.NodeTrust().ClearRejection(ctx, n.ID); err != nil {
				return err
			}
			if out, err = c.issueNodeToken(ctx, tx, n.ID); err != nil {
				return err
			}
			return tx.NodeEvents().Add(ctx, n.ID, controlplane.NodeTokenRotated,
				"to "+out.Node.TokenKid+" by "+actor.Name())
		})
	return out, err
}

// RevokeToken takes a node's token away and disconnects it.
func (c *Catalog) RevokeToken(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return c.onNode(ctx, actor, "revoke token", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if err := revokeTokens(ctx, tx, n); err != nil {
				return err
			}
			return tx.NodeEvents().Add(ctx, n.ID, controlplane.NodeTokenRevoked, "by "+actor.Name())
		})
}

// revokeTokens ends the active token. An agent that never connected cannot know it, so there is no
// revocation to confirm.
func revokeTokens(ctx context.Context, tx *postgres.Tx, n controlplane.Node) error {
	_, err := tx.NodeTokens().Revoke(ctx, n.ID, n.Thumbprint != "")
	return err
}

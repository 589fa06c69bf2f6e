// Package nodes is what admins decide about nodes: it adds and removes them, issues,
// rotates and revokes their tokens, approves or rejects changed certificates, drains
// them, and keeps the records of setting up their machines over SSH.
//
// It changes rows and connects to nothing: the fleet keeps the sessions with the
// agents, and provision works on the machines.
package nodes

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
)

// IssuedToken is a new node credential: the token, shown once, its public
// name, and the key that both ends derive from it.
type IssuedToken struct {
	Token controlplane.Plain
	Kid   string
	Key   []byte
}

// Config is what New needs.
type Config struct {
	Store *postgres.Store
	Keys  *keyring.Keyring
	// IssueToken makes a node's credential, bound to our own identity.
	IssueToken func() (IssuedToken, error)
	// AllowLoopback lets nodes be on this machine, for development.
	AllowLoopback bool
	// Deny forbids further node addresses, such as the control plane's own and the database's; nil
	// forbids no others.
	Deny func(netip.AddrPort) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Nodes is the door to the nodes that admins define. It is safe for concurrent use.
type Nodes struct {
	store         *postgres.Store
	keys          *keyring.Keyring
	issueToken    func() (IssuedToken, error)
	allowLoopback bool
	deny          func(netip.AddrPort) bool
	now           func() time.Time
}

// New makes the use cases.
func New(c Config) *Nodes {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Deny == nil {
		c.Deny = func(netip.AddrPort) bool { return false }
	}
	return &Nodes{store: c.Store, keys: c.Keys, issueToken: c.IssueToken,
		allowLoopback: c.AllowLoopback, deny: c.Deny, now: c.Now}
}

func (s *Nodes) changeAsAdmin(
	ctx context.Context, actor access.Actor, action, object string, fn func(*postgres.Tx) error,
) error {
	return audit.ChangeAsAdmin(ctx, s.store, actor, action, object, fn)
}

// Put is what an admin says about a new node.
type Put struct {
	Name        string
	Environment string
	// Connect says who dials; empty is the control plane.
	Connect controlplane.NodeConnect
	// Address is host:port where the agent listens, or a URL that leads there; empty if the
	// agent dials.
	Address string
	// Thumbprint is the expected certificate's, or empty.
	Thumbprint string
	Settings   controlplane.NodeSettings
	// Template is a node template that it follows, or empty.
	Template string
}

// Enrolment is a node and its new token, which is shown once.
type Enrolment struct {
	Node  controlplane.Node
	Token controlplane.Plain
}

// ListNodes returns one page of nodes and the next page's cursor.
func (s *Nodes) ListNodes(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Node, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Nodes().List(ctx, p)
		return err
	})
	all, next = controlplane.CutPage(p, all, func(n controlplane.Node) string { return n.Name })
	return all, next, err
}

// GetNode loads one node.
func (s *Nodes) GetNode(
	ctx context.Context, actor access.Actor, name string,
) (n controlplane.Node, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return n, err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		n, err = tx.Nodes().ByName(ctx, name)
		return err
	})
	return n, err
}

// AddNode adds a node and returns its token.
func (s *Nodes) AddNode(
	ctx context.Context, actor access.Actor, p Put,
) (out Enrolment, err error) {
	err = s.changeAsAdmin(ctx, actor, "add node", "node "+p.Name, func(tx *postgres.Tx) error {
		n, err := s.newNode(ctx, tx, p)
		if err != nil {
			return err
		}
		if err := tx.Nodes().Insert(ctx, n); err != nil {
			return err
		}
		out, err = s.issueNodeToken(ctx, tx, n.ID)
		return err
	})
	return out, err
}

func (s *Nodes) newNode(
	ctx context.Context, tx *postgres.Tx, p Put,
) (n controlplane.Node, err error) {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return n, err
	}
	n = controlplane.Node{
		ID: controlplane.NewID[controlplane.NodeID](), Name: p.Name, Template: p.Template,
	}
	if n.Connect, n.Address, err = s.checkWay(p.Connect, p.Address); err != nil {
		return n, err
	}
	if n.Settings, err = p.Settings.Normalize(); err != nil {
		return n, err
	}
	if err := applyTemplate(ctx, tx, &n); err != nil {
		return n, err
	}
	if p.Thumbprint != "" {
		if n.Expected, err = controlplane.ParseThumbprint("thumbprint", p.Thumbprint); err != nil {
			return n, err
		}
	}
	n.EnvironmentID, err = findEnvironment(ctx, tx, p.Environment)
	return n, err
}

func findEnvironment(
	ctx context.Context, tx *postgres.Tx, name string,
) (controlplane.EnvironmentID, error) {
	e, err := tx.Environments().ByName(ctx, name)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return "", controlplane.NewInvalidError("environment", "unknown_environment",
			"environment "+controlplane.ClipText(name)+" does not exist",
			"Create the environment first, or correct the name.")
	}
	return e.ID, err
}

// issueNodeToken replaces a node's active token by a new one.
func (s *Nodes) issueNodeToken(
	ctx context.Context, tx *postgres.Tx, id controlplane.NodeID,
) (out Enrolment, err error) {
	t, err := s.issueToken()
	if err != nil {
		return out, fmt.Errorf("issue token: %w", err)
	}
	defer clear(t.Key)
	sealed, err := s.keys.SealNodeKey(controlplane.NodeToken{Kid: t.Kid, Node: id}, t.Key)
	if err != nil {
		return out, err
	}
	if err := tx.NodeTokens().Insert(ctx, id, t.Kid, sealed); err != nil {
		return out, err
	}
	n, err := tx.Nodes().ByID(ctx, id)
	return Enrolment{Node: n, Token: t.Token}, err
}

// RemoveNode forgets a node without deployments.
func (s *Nodes) RemoveNode(ctx context.Context, actor access.Actor, name string) error {
	return s.changeAsAdmin(ctx, actor, "remove node", "node "+name, func(tx *postgres.Tx) error {
		n, err := tx.Nodes().ByName(ctx, name)
		if err != nil {
			return err
		}
		return tx.Nodes().Delete(ctx, n.ID)
	})
}

// onNode runs an admin's change of one node and returns the node after it.
func (s *Nodes) onNode(
	ctx context.Context, actor access.Actor, action, name string,
	fn func(*postgres.Tx, controlplane.Node) error,
) (out controlplane.Node, err error) {
	err = s.changeAsAdmin(ctx, actor, action, "node "+name, func(tx *postgres.Tx) error {
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
func (s *Nodes) DisableNode(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return s.onNode(ctx, actor, "disable node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if !n.IsEnabled() {
				return nil
			}
			return moveNode(ctx, tx, n, controlplane.NodeDisabled, "disabled by "+actor.Name())
		})
}

// EnableNode enables a node. It counts as offline until it is connected, or as enrolled if it never
// was.
func (s *Nodes) EnableNode(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return s.onNode(ctx, actor, "enable node", name,
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
func (s *Nodes) ApproveNode(
	ctx context.Context, actor access.Actor, name, thumbprint string,
) (controlplane.Node, error) {
	return s.onNode(ctx, actor, "approve node", name,
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
				return controlplane.NewConflictError("thumbprint_changed",
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
		return controlplane.NewConflictError(
			"nothing_to_approve", "the node's certificate did not change",
			"Nothing needs to be done.")
	case n.Pending != print:
		return controlplane.NewConflictError("thumbprint_changed",
			"the node answered with another certificate than this one",
			"Compare the thumbprint that the agent prints with the one shown here.")
	case !n.PendingProofValid:
		return controlplane.NewConflictError("proof_invalid",
			"the new certificate did not prove the node's token, so it cannot be approved",
			"Make a new token and enrol the node again.")
	default:
		return nil
	}
}

// RotateToken replaces a node's token. The old one is invalid from now on; the agent
// is informed over its session, if there is one. A node that is not trusted enrols
// again with the new token.
func (s *Nodes) RotateToken(
	ctx context.Context, actor access.Actor, name string,
) (out Enrolment, err error) {
	_, err = s.onNode(ctx, actor, "rotate token", name,
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
			if out, err = s.issueNodeToken(ctx, tx, n.ID); err != nil {
				return err
			}
			return tx.NodeEvents().Add(ctx, n.ID, controlplane.NodeTokenRotated,
				"to "+out.Node.TokenKid+" by "+actor.Name())
		})
	return out, err
}

// RevokeToken takes a node's token away and disconnects it.
func (s *Nodes) RevokeToken(
	ctx context.Context, actor access.Actor, name string,
) (controlplane.Node, error) {
	return s.onNode(ctx, actor, "revoke token", name,
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

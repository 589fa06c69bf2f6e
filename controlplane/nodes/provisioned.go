package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
)

// OpenSSH opens a machine's SSH settings for provisioning. This is audited like every
// opening of a secret.
func (s *Nodes) OpenSSH(
	ctx context.Context, actor access.Actor, id controlplane.NodeID,
) (out controlplane.NodeSSH, credential SSHCredential, err error) {
	if err := keyring.RequireSystem(actor); err != nil {
		return out, credential, err
	}
	entry := actor.NewAuditEntry("open credential", "node "+string(id))
	err = s.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		var known bool
		out, known, err = tx.NodeSSH(ctx, id)
		if err == nil && (!known || out.Credential == nil) {
			return controlplane.NewConflictError(
				"no_credential", "the node's SSH credential was forgotten",
				"Begin a new attempt with the credential.")
		}
		return err
	})
	if err != nil {
		return out, credential, err
	}
	text, err := s.keys.OpenSSH(id, out.Credential)
	if err != nil {
		return out, credential, err
	}
	defer clear(text)
	var opened sealedCredential
	if err := json.Unmarshal(text, &opened); err != nil {
		return out, credential, fmt.Errorf("read credential of node %s: %w", id, err)
	}
	return out, SSHCredential{Password: controlplane.NewPlain(opened.Password),
		PrivateKey: controlplane.NewPlain(opened.PrivateKey),
		Passphrase: controlplane.NewPlain(opened.Passphrase)}, nil
}

// EnrolProvisioned returns a new token for a machine. First contact must show the
// certificate that the agent printed over SSH, so that an attacker who connects first
// is not trusted.
func (s *Nodes) EnrolProvisioned(
	ctx context.Context, actor access.Actor, id controlplane.NodeID,
	print controlplane.Thumbprint,
) (out Enrolment, err error) {
	if err := keyring.RequireSystem(actor); err != nil {
		return out, err
	}
	entry := actor.NewAuditEntry("enrol node", "node "+string(id))
	err = s.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		n, err := tx.NodeByID(ctx, id)
		if err != nil {
			return err
		}
		if n.Status == controlplane.NodeOnline || !n.IsEnabled() {
			return controlplane.NewConflictError(
				"not_allowed_now", "the node is "+string(n.Status)+" meanwhile",
				"Look at the node; somebody may have been faster.")
		}
		if err := revokeTokens(ctx, tx, n); err != nil {
			return err
		}
		if err := tx.ClearTrust(ctx, id); err != nil {
			return err
		}
		if err := tx.ClearRejection(ctx, id); err != nil {
			return err
		}
		if err := tx.ExpectThumbprint(ctx, id, print); err != nil {
			return err
		}
		err = moveNode(ctx, tx, n, controlplane.NodeEnrolled, "provisioned over SSH")
		if err != nil {
			return err
		}
		out, err = s.issueNodeToken(ctx, tx, id)
		return err
	})
	return out, err
}

// NodeByID loads a node, for the control plane's own tasks.
func (s *Nodes) NodeByID(
	ctx context.Context, actor access.Actor, id controlplane.NodeID,
) (n controlplane.Node, err error) {
	if err := keyring.RequireSystem(actor); err != nil {
		return n, err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) error {
		n, err = tx.NodeByID(ctx, id)
		return err
	})
	return n, err
}

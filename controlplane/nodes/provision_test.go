package nodes_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// overSSH reaches a machine with the canary as password.
func overSSH() *nodes.SSHPut {
	return &nodes.SSHPut{Host: "10.0.0.5", User: "root", Password: controlplane.NewPlain(canary),
		HostKey: "SHA256:" + strings.Repeat("a", 43)}
}

// provisioned begins an attempt.
func (w *world) provisioned(t *testing.T, n controlplane.Node) controlplane.ProvisionAttempt {
	t.Helper()
	return must(w.ProvisionNode(t.Context(), w.admin, n.Name, overSSH()))(t)
}

// The credential is sealed for its node alone, opened for the control plane's own
// tasks only, and gone once it was forgotten.
func TestProvisionNode_KeepsTheCredentialSealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, n := t.Context(), w.addNode(t).Node
	first := w.provisioned(t, n)
	if first.Number != 1 || first.State != controlplane.ProvisionPending {
		t.Errorf("begun as %+v", first)
	}
	_, err := w.ProvisionNode(ctx, w.admin, n.Name, overSSH())
	if controlplane.CodeOf(err) != "provision_running" {
		t.Errorf("two attempts at once: %v", err)
	}
	stored := pgtest.QueryValue[[]byte](t, w.url, "SELECT credential FROM node_ssh")
	if len(stored) == 0 || strings.Contains(string(stored), canary) {
		t.Error("the credential is not sealed")
	}
	where, opened, err := w.OpenSSH(ctx, access.System("provision"), n.ID)
	if err != nil || opened.Password.Reveal() != canary || where.Port != 22 ||
		where.Plan.Directory != "/opt/nullops" {
		t.Errorf("opened %+v, %v", where, err)
	}
	if _, _, err := w.OpenSSH(ctx, w.admin, n.ID); controlplane.KindOf(err) != controlplane.Forbidden {
		t.Errorf("an admin opens it: %v", err)
	}
	other := must(w.AddNode(ctx, w.admin, nodes.Put{Name: "n2", Environment: "qa",
		Address: "10.0.0.6:5000"}))(t).Node
	pgtest.Exec(t, w.url, `INSERT INTO node_ssh SELECT $1, host, port, username, host_key,
		credential, forget, plan FROM node_ssh`, string(other.ID))
	if _, _, err := w.OpenSSH(ctx, access.System("provision"), other.ID); err == nil {
		t.Error("a credential opens for another node")
	}
	if err := w.ForgetSSH(ctx, w.admin, n.Name); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.OpenSSH(ctx, access.System("provision"), n.ID)
	if controlplane.CodeOf(err) != "no_credential" {
		t.Errorf("opened after it was forgotten: %v", err)
	}
}

// A new token is issued for exactly the certificate that was reported over SSH, and only by the
// control plane itself.
func TestEnrolProvisioned_ExpectsTheCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	before := w.addNode(t)
	_, err := w.EnrolProvisioned(ctx, w.admin, before.Node.ID, print("a"))
	if controlplane.KindOf(err) != controlplane.Forbidden {
		t.Errorf("an admin enrols by hand: %v", err)
	}
	e := must(w.EnrolProvisioned(ctx, access.System("provision"), before.Node.ID, print("a")))(t)
	if e.Node.Expected != print("a") || e.Node.TokenKid == before.Node.TokenKid ||
		e.Token.IsEmpty() || e.Node.Status != controlplane.NodeEnrolled {
		t.Errorf("enrolled as %+v", e.Node)
	}
}

package keyring_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/internal/intoto"
	"github.com/nullops/nullops/migrations"
	"github.com/nullops/nullops/pipeline"
)

// Columns of bytes that hold nothing sealed with a master key: hashes, links, the certificate,
// what the ingress's own key seals, key checks, outputs that are sealed with a run's key, and
// answers kept, which show no secret (see TestOnce_EveryCreate).
var notSealed = []string{
	"api_tokens.hash", "links.hash", "gate_passes.hash", "device_logins.hash",
	"sessions.hash", "idempotency_keys.request", "audit.mac", "audit_head.mac",
	"audit_checkpoints.link", "audit_checkpoints.mac", "identity.certificate", "key_check.sealed",
	"ingress_values.sealed", "run_steps.sealed", "reach_tickets.digest", "idempotency_keys.answer",
	"provisioning_tokens.hash", "node_enrolments.public_key",
	// Logs and figures of a process, until a support archive is written.
	"support_parts.files",
	// Signed statements, which are published.
	"verdicts.bundle",
}

// Every place that holds a sealed value has one; the ring changes, everything
// still opens, rotation moves all of it, and only then the old key may go.
//
// fault: F61
func TestRotateKeys(t *testing.T) {
	t.Parallel()
	first, both, second := rings(t)
	w := newWorldWith(t, first)
	ctx, setup := t.Context(), access.System("setup")
	id, run := w.everythingSealed(t)
	old := must(w.ring.AuditKey(ctx, setup))(t)

	w.use(both)
	checkRing(t, w, both, "")
	checkRing(t, w, second, "master_key_missing")
	if states := must(w.ring.ListKeys(ctx, w.admin))(t); len(states) != 2 || !states[0].Primary ||
		states[0].Values != 0 || states[1].Key != "k1" || len(states[1].Uses) != 11 {
		t.Errorf("before: %+v", states)
	}
	done, left, err := w.ring.RotateKeys(ctx, w.admin, "")
	if err != nil || done < 10 || left != 0 {
		t.Fatalf("rotated %d, %d left: %v", done, left, err)
	}
	if states := must(w.ring.ListKeys(ctx, w.admin))(t); states[1].Values != 0 ||
		len(states[0].Uses) != 11 {
		t.Errorf("after: %+v", states)
	}
	checkRing(t, w, second, "")

	w.use(second)
	b := must(w.OpenRun(ctx, access.System("fleet"), id, run(w)))(t)
	if b.Values["API_TOKEN"].Reveal() != canary || len(b.Key) != 32 {
		t.Errorf("after the rotation: %v", b.Values)
	}
	node := must(w.GetNode(ctx, w.admin, "n1"))(t)
	_, ssh, err := w.OpenSSH(ctx, access.System("provision"), node.ID)
	if err != nil || ssh.Password.Reveal() != canary {
		t.Errorf("the SSH credential after the rotation: %v", err)
	}
	if served := must(w.OpenCertificates(ctx, w.admin))(t); len(served) != 1 ||
		!strings.Contains(served[0].Key.Reveal(), "PRIVATE KEY") {
		t.Error("the certificate's key after the rotation")
	}
	if _, ok, err := w.OpenAuthority(ctx, w.admin); !ok || err != nil {
		t.Errorf("the authority after the rotation: %v", err)
	}
	if key := must(w.ring.AuditKey(ctx, setup))(t); key != old {
		t.Error("rotation broke the audit's chain")
	}
	if done, left, err = w.ring.RotateKeys(ctx, w.admin, ""); done != 0 || left != 0 || err != nil {
		t.Errorf("again: %d rotated, %d left: %v", done, left, err)
	}
}

// A column that someone adds has to be either rotated or named above.
func TestRotateKeys_KnowsEveryColumn(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	all := pgtest.QueryValue[[]string](t, url, `SELECT array_agg(table_name || '.' || column_name)
		FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'bytea'`)
	rotated := []string{"secrets.value", "registries.password", "node_tokens.verifier",
		"identity.key", "runs.key_sealed", "deployment_secrets.sealed", "audit_head.sealed_key",
		"node_ssh.credential", "certificates.key", "certificate_authority.key",
		"outward_secrets.value", "acme_settings.dns_secret", "acme_settings.eab_key",
		"acme_accounts.key", "acme_certificates.key", "run_secrets.sealed", "second_factors.seed",
		"verdict_key.key"}
	for _, column := range all {
		if !slices.Contains(rotated, column) && !slices.Contains(notSealed, column) {
			t.Errorf("%s is neither rotated by RotateKeys nor listed as not sealed", column)
		}
	}
}

func checkRing(t *testing.T, w *world, ring *seal.Keyring, code string) {
	t.Helper()
	err := keyring.New(w.store, ring, w.log).CheckKeys(t.Context(), access.System("setup"))
	if controlplane.CodeOf(err) != code {
		t.Errorf("start with %v: %v, want %q", ring.KeyIDs(), err, code)
	}
}

// everythingSealed stores a value in each place, and returns a run to open.
func (w *world) everythingSealed(
	t *testing.T,
) (controlplane.DeploymentID, func(*world) controlplane.Run) {
	t.Helper()
	w.shop(t)
	ctx := t.Context()
	checkRing(t, w, w.keys, "")
	password := controlplane.NewPlain(canary)
	must(w.PutRegistry(ctx, w.admin, catalog.RegistryPut{Name: "private",
		Host: "registry.example.org", Username: "robot", Password: &password}))(t)
	// The run below is one of a saved version.
	must(w.SavePipeline(ctx, w.admin, "shop", pipeline.Pipeline{Steps: []pipeline.Step{
		{Key: "ask", Approval: &pipeline.ApprovalStep{Prompt: "Go on?"}}}}, ""))(t)
	w.addNode(t)
	_, _, err := w.ring.LoadOrCreateIdentity(ctx, access.System("setup"),
		func() ([]byte, []byte, error) { return []byte("c"), []byte(canary), nil })
	if err != nil {
		t.Fatal(err)
	}
	chain, key := selfSigned(t)
	must(w.PutCertificate(ctx, w.admin, certificates.Put{Name: "wild", Chain: chain,
		Key: controlplane.NewPlain(key)}))(t)
	must(w.MakeAuthority(ctx, w.admin))(t)
	id, run := w.insertDeployment(t, "cart")
	must(w.OpenRun(ctx, access.System("fleet"), id, run))(t)
	w.exec(t, `INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline,
		key_sealed, started_by) SELECT $1, id, 1, project_id, 1, '{}', $2, 'ada' FROM deployments`,
		string(run.ID), []byte(run.Key))
	return id, func(w *world) controlplane.Run {
		run.Key = pgtest.QueryValue[[]byte](t, w.url, "SELECT key_sealed FROM runs")
		return run
	}
}

// What was signed before the master keys or the key that signs verdicts were rotated is
// verified with a key that is still published. That one signs no more: its private part is gone.
func TestRotateVerdictKey(t *testing.T) {
	t.Parallel()
	first, both, second := rings(t)
	w := newWorldWith(t, first)
	ctx := t.Context()
	sign := func() (bundle []byte, public string) {
		t.Helper()
		err := w.store.InTx(ctx, func(tx *postgres.Tx) error {
			key, signs, err := w.ring.VerdictSigner(ctx, tx)
			if err != nil {
				return err
			}
			public = signs.PublicKey
			bundle, err = intoto.Sign(key, intoto.Statement{Type: intoto.StatementType})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return bundle, public
	}
	old, public := sign()
	w.use(both)
	if done, left, err := w.ring.RotateKeys(ctx, w.admin, ""); err != nil || done == 0 || left != 0 {
		t.Fatalf("rotated %d, %d left: %v", done, left, err)
	}
	w.use(second)
	again, same := sign()
	if _, err := intoto.Verify(same, old); err != nil || same != public {
		t.Errorf("after the master keys were rotated, an old statement: %v", err)
	}
	if err := w.ring.RotateVerdictKey(ctx, access.Actor{}); err == nil {
		t.Error("a stranger rotates the key")
	}
	if err := w.ring.RotateVerdictKey(ctx, w.admin); err != nil {
		t.Fatal(err)
	}
	newest, now := sign()
	var former []controlplane.VerdictKey
	err := w.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		former, err = tx.Verdicts().ListFormerKeys(ctx)
		return err
	})
	// promise: W-06
	if err != nil || len(former) != 1 || former[0].PublicKey != public || now == public ||
		!former[0].CreatedAt.Before(*former[0].EndedAt) {
		t.Fatalf("the former keys are %+v, the one that signs is %s: %v", former, now, err)
	}
	for name, c := range map[string]struct {
		key    string
		bundle []byte
		want   error
	}{"old": {former[0].PublicKey, old, nil}, "resealed": {former[0].PublicKey, again, nil},
		"newest": {now, newest, nil}, "newest with the former": {public, newest, intoto.ErrNotSigned},
		"old with the newest": {now, old, intoto.ErrNotSigned}} {
		if _, err := intoto.Verify(c.key, c.bundle); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := w.query(t, `SELECT count(*) FROM audit WHERE action = 'rotate'
		AND object = 'the key that signs verdicts' AND result = 'ok'`); n != 1 {
		t.Errorf("the audit log has %d entries", n)
	}
}

package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// fetchToken returns the API_TOKEN that the node of a deployment gets for its run.
func (w *world) fetchToken(d controlplane.Deployment) string {
	w.t.Helper()
	run, _, err := w.lifecycle.SealedRun(w.t.Context(), system, w.node, d.ID, d.Generation)
	w.expectSaved(nil, err)
	b, err := w.catalog.OpenRun(w.t.Context(), access.System("fleet"), d.ID, run)
	w.expectSaved(nil, err)
	return b.Values["API_TOKEN"].Reveal()
}

func (w *world) sealedValues() int {
	w.t.Helper()
	return pgtest.QueryValue[int](w.t, w.database, "SELECT count(*)::int FROM run_secrets")
}

// A run keeps the values it was made with until it is gone. Its secret cannot
// be deleted meanwhile, even if the current pipeline has forgotten it.
func TestRunSecrets_KeptUntilGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	d := w.deploy("first")
	if got := w.fetchToken(d); got != projectSecret {
		t.Fatalf("the run got %q", got)
	}
	const secret = "/projects/shop/secrets/API_TOKEN"
	w.expect(http.StatusOK, "PUT", secret, root, object{"value": "a-later-value"}, nil)
	w.publishPipeline(func(p *pipeline.Pipeline) {
		p.Steps = p.Steps[:1]
		p.Steps[0].Service.Env = nil
	})
	for _, status := range []controlplane.DeploymentStatus{"", controlplane.Applying,
		controlplane.Ready, controlplane.Removing} {
		if status == controlplane.Removing {
			w.expect(http.StatusAccepted, "DELETE", "/deployments/"+string(d.ID), root,
				nil, nil)
		} else if status != "" {
			w.reaches(d, status)
		}
		now, err := w.lifecycle.Get(t.Context(), system, d.ID)
		w.expectSaved(nil, err)
		if got := w.fetchToken(now); got != projectSecret {
			t.Errorf("%s: an agent that restarts gets %q", now.Status, got)
		}
		a := w.call("DELETE", "/api/v1"+secret, root, nil)
		var said struct{ Users []string }
		_ = json.Unmarshal(a.body, &said)
		if a.status != http.StatusConflict || a.field("code") != "in_use" ||
			!slices.Equal(said.Users, []string{"deployment first"}) {
			t.Errorf("%s: delete the secret: %d %s", now.Status, a.status, a.body)
		}
	}
	if n := w.sealedValues(); n != 1 {
		t.Errorf("%d values are sealed, want 1", n)
	}
	w.reaches(d, controlplane.Removed)
	if n := w.sealedValues(); n != 0 {
		t.Errorf("%d values outlive their deployment", n)
	}
	w.expect(http.StatusNoContent, "DELETE", secret, root, nil, nil)
	w.expect(http.StatusNoContent, "DELETE", "/projects/shop", root, nil, nil)
}

// A retry is a new run, and uses what the project's secrets hold by then.
func TestRunSecrets_RetryUsesCurrentValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	d := w.deploy("first")
	w.fetchToken(d)
	w.expect(http.StatusOK, "PUT", "/projects/shop/secrets/API_TOKEN", root,
		object{"value": "a-later-value"}, nil)
	for _, status := range []controlplane.DeploymentStatus{controlplane.Applying,
		controlplane.Undoing, controlplane.Failed} {
		w.reaches(d, status)
	}
	w.expect(http.StatusAccepted, "POST", "/deployments/"+string(d.ID)+"/retry", root,
		nil, nil)
	d, err := w.lifecycle.Get(t.Context(), system, d.ID)
	w.expectSaved(nil, err)
	if got := w.fetchToken(d); d.Run != 2 || got != "a-later-value" {
		t.Errorf("run %d got %q", d.Run, got)
	}
}

// An adopted run keeps the values that its node had, not those of the restored
// database.
func TestRunSecrets_AdoptedRunKeepsItsValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	found := lifecycle.DescribedDeployment{
		ID:         controlplane.NewID[controlplane.DeploymentID](),
		Generation: 3,
		Run:        controlplane.NewID[controlplane.RunID](),
		Version:    1,
		Pipeline:   shopPipeline(),
		Phase:      "ready",
		Values:     map[string]string{"API_TOKEN": "what-the-node-had"},
	}
	w.expectSaved(nil, w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.UnknownDeployments().Put(t.Context(), controlplane.UnknownDeployment{ID: found.ID,
			Node: w.node, Name: "lost", Project: "shop", Environment: "qa", Phase: "ready"})
	}))
	d, err := w.lifecycle.Adopt(t.Context(), system, "node-1", found.ID,
		func(context.Context, controlplane.NodeID, controlplane.DeploymentID) (
			lifecycle.DescribedDeployment, error) {
			return found, nil
		})
	w.expectSaved(nil, err)
	if got := w.fetchToken(d); got != "what-the-node-had" {
		t.Errorf("after the adoption its agent gets %q", got)
	}
}

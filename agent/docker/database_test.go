package docker_test

import (
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/internal/testpart"
)

// Two deployments of one pipeline that has a database have two databases: each is
// its own container, and each deployment reaches its own under the same name.
func TestService_EachDeploymentHasItsOwnDatabase(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	ids := []string{r.deployment(), r.deployment()}
	for _, id := range ids {
		db := r.service(id, "db")
		db.Env["WHO"] = "the database of " + id
		r.start(db)
	}
	list, err := r.api.ContainerList(t.Context(), client.ContainerListOptions{
		Filters: client.Filters{}.Add("label", "nullops.install="+r.install).
			Add("label", "nullops.step=db", "nullops.kind=service")})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{}
	for _, c := range list.Items {
		owners[c.Labels["nullops.deployment"]] = c.ID
	}
	// promise: N-174
	if len(list.Items) != 2 || owners[ids[0]] == "" || owners[ids[0]] == owners[ids[1]] {
		t.Errorf("two deployments have the database containers %v", owners)
	}
	for _, id := range ids {
		// promise: N-174
		if got := r.get(id, "db", "/env?name=WHO"); got != "the database of "+id {
			t.Errorf("deployment %s gets %q", id, got)
		}
	}
}

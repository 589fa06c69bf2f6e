package docker_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

// An engine that is just starting a container again refuses to remove it. The old agent continues
// anyway, under its own name: without it the machine cannot be reached.
func TestReplaceAgent_OldOneGoesOnThoughTheEngineRefusesOnce(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	host := dockertest.Host(t)
	api := dockertest.Client(t, host)
	image := func(name, command string) string {
		i := dockertest.ImportActorImage(t, host, "nullops-test/"+name, `ENTRYPOINT ["actor"]`,
			"CMD "+command, "ENV PATH=/")
		return i.Repository + ":" + i.Tag
	}
	name := "agent-" + uuid.NewString()
	old, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: name,
		Config: &container.Config{Image: image("agent", `["sleep"]`), StopSignal: "SIGKILL"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, id := range []string{old.ID, name} {
			_, _ = api.ContainerRemove(context.WithoutCancel(t.Context()), id,
				client.ContainerRemoveOptions{Force: true})
		}
	})
	if _, err = api.ContainerStart(t.Context(), old.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Bool
	busy := refuseFirstRemoval(engineProxy(host), "/containers/"+name, &refused)
	broken := image("broken", `["exit","1"]`)
	err = docker.ReplaceAgent(t.Context(), standBefore(t, busy), old.ID, broken)
	if err == nil || !strings.Contains(err.Error(), "did not stay up") || !refused.Load() {
		t.Errorf("a broken image: %v, refused: %v", err, refused.Load())
	}
	r, err := api.ContainerInspect(t.Context(), old.ID, client.ContainerInspectOptions{})
	if err != nil || !r.Container.State.Running || r.Container.Name != "/"+name {
		t.Errorf("the old agent: %+v %s, %v", r.Container.State, r.Container.Name, err)
	}
}

// refuseFirstRemoval answers the first removal of the container as dockerd does in that race.
func refuseFirstRemoval(engine http.Handler, path string, refused *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, path) ||
			!refused.CompareAndSwap(false, true) {
			engine.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"message":"Could not kill running container: it is not running"}`))
	})
}

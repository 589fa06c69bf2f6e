package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

const relayUID = 65532

// An agent that was upgraded finds the relays that the release before it started: it uses them,
// replaces one when its deployment is prepared again, and removes the other with its deployment.
func TestRelay_OfAnEarlierRelease(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	retried, ended := r.deployment(), r.deployment()
	for _, id := range []string{retried, ended} {
		r.start(r.service(id, "web"))
		r.makeOldRelay(id)
	}
	d := r.open()
	defer func() { _ = d.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, id := range []string{retried, ended} {
		if o := findRelay(t, d, id); !o.Running || o.Name != r.oldName(id, "gate") {
			t.Errorf("the relay of an earlier release is listed as %+v", o)
		}
		dockertest.WaitUntil(ctx, t, "the old relay connects", func() bool {
			return dialWeb(t, d, id) == nil
		})
		if p, err := d.Probe(t.Context(), r.service(id, "web")); err != nil || p.Health != "healthy" {
			t.Errorf("a probe through the old relay: %+v, %v", p, err)
		}
	}

	old := findRelay(t, d, retried)
	if err := d.Prepare(t.Context(), retried); err != nil {
		t.Fatal(err)
	}
	now := findRelay(t, d, retried)
	if now.ID == old.ID || now.Name != r.oldName(retried, "relay") {
		t.Errorf("prepared again, its relay is %+v", now)
	}
	if err := dialWeb(t, d, retried); err != nil {
		t.Errorf("through the new relay: %v", err)
	}
	if _, err := os.Stat(r.oldRelayDir(retried)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old relay's folder stays: %v", err)
	}

	if left, err := d.RemoveDeployment(t.Context(), ended); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Dir(r.oldRelayDir(ended))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the old relays stays: %v", err)
	}
}

// oldRelayDir is where an earlier release put the socket of a deployment's relay.
func (r *rig) oldRelayDir(deployment string) string {
	return filepath.Join(r.dataDir, "gates",
		strings.TrimPrefix(r.oldName(deployment), "nullops-"))
}

// makeOldRelay replaces a deployment's relay by one that is made as an earlier release made it.
func (r *rig) makeOldRelay(deployment string) {
	r.t.Helper()
	ctx := r.t.Context()
	relay := findRelay(r.t, r.Docker, deployment)
	c, err := r.api.ContainerInspect(ctx, relay.ID, client.ContainerInspectOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.Remove(ctx, relay); err != nil {
		r.t.Fatal(err)
	}
	dir := r.oldRelayDir(deployment)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chown(dir, relayUID, relayUID)); err != nil {
		r.t.Fatal(err)
	}
	config, host := c.Container.Config, c.Container.HostConfig
	config.Cmd = []string{"gate", "/gate/gate.sock"}
	config.Labels["nullops.kind"], config.Labels["nullops.spec"] = "gate", "earlier"
	host.Mounts[0].Source, host.Mounts[0].Target = dir, "/gate"
	made, err := r.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: r.oldName(deployment, "gate"), Config: config, HostConfig: host,
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			string(host.NetworkMode): {},
		}}})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// findRelay returns the one relay of a deployment.
func findRelay(t testing.TB, d *docker.Docker, deployment string) (found agent.Object) {
	t.Helper()
	all, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Deployment != deployment || o.Kind != agent.KindRelay {
			continue
		}
		if found.ID != "" {
			t.Fatalf("deployment %s has two relays: %s and %s", deployment, found.Name, o.Name)
		}
		found = o
	}
	if found.ID == "" {
		t.Fatalf("deployment %s has no relay", deployment)
	}
	return found
}

func dialWeb(t testing.TB, d *docker.Docker, deployment string) error {
	t.Helper()
	conn, err := d.Dial(t.Context(), deployment, "web", 80)
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	return conn.Close()
}

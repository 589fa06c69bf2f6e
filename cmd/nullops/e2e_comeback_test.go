package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// comesBack does to a node all that people and machines do to one, and wants the
// services back each time, under the URL they had.
func comesBack(t *testing.T, p *product, n *node, engine *dockertest.Daemon,
	d apiclient.Deployment) {
	t.Helper()
	api := dockertest.Client(t, engine.Host)
	web := func() string { return n.containers(t, d.Id)["web"].ID }
	bystander := ""
	force := client.ContainerRemoveOptions{Force: true}
	for _, fault := range []struct {
		name string
		do   func() error
	}{
		{"docker kill", func() error {
			_, err := api.ContainerKill(t.Context(), web(), client.ContainerKillOptions{})
			return err
		}},
		{"docker rm -f", func() error {
			_, err := api.ContainerRemove(t.Context(), web(), force)
			return err
		}},
		{"the relay removed", func() error {
			_, err := api.ContainerRemove(t.Context(), n.containers(t, d.Id)["relay"].ID, force)
			return err
		}},
		{"the network removed", func() error { return removeNetwork(t, api, d.Id) }},
		{"docker stop and system prune -af", func() error {
			if _, err := api.ContainerStop(t.Context(), web(), client.ContainerStopOptions{}); err != nil {
				return err
			}
			prune := exec.CommandContext(t.Context(), "docker", "--host", engine.Host, "system",
				"prune", "--all", "--force", "--volumes")
			return prune.Run()
		}},
		// From here on someone else has a container too. Before, it would have kept the image that
		// the prune takes away.
		{"nothing at all", func() error { bystander = n.bystander(t, web()); return nil }},
		{"dockerd SIGTERM and start", func() error {
			engine.Terminate()
			engine.Start()
			return nil
		}},
		{"reboot", func() error { n.reboot(t, engine); return nil }},
	} {
		if err := fault.do(); err != nil {
			t.Fatalf("%s: %v", fault.name, err)
		}
		ended := time.Now()
		// fault: F29, F40
		p.whole(t, n, d, fault.name) // promise: N-237
		t.Logf("%s: whole again after %s", fault.name,
			time.Since(ended).Round(100*time.Millisecond))
	}
	if _, err := api.ContainerInspect(t.Context(), bystander,
		client.ContainerInspectOptions{}); err != nil {
		t.Errorf("a stranger's container did not live through it: %v", err)
	}
}

// whole waits until a deployment answers at its URL, with all its parts.
func (p *product) whole(t *testing.T, n *node, before apiclient.Deployment, after string) {
	t.Helper()
	url := serviceURL(t, before, "web")
	within(t, time.Minute, "all is there again after "+after, func() string {
		found := n.containers(t, before.Id)
		for _, part := range []string{"web", "relay"} {
			if c, ok := found[part]; !ok || c.State == nil || !c.State.Running {
				return part + " does not run"
			}
		}
		if a := p.visit(t, url+"/healthz"); a.status != 200 {
			return a.String()
		}
		return ""
	})
	now := p.admin.deployment(t, before.Id)
	if now.Status != apiclient.DeploymentStatusReady || serviceURL(t, now, "web") != url {
		t.Errorf("after %s it is %s at %s, was at %s", after, now.Status,
			serviceURL(t, now, "web"), url)
	}
}

// bystander is a foreign container, in the state in which clean-ups like to take things along.
func (n *node) bystander(t *testing.T, like string) string {
	t.Helper()
	api := dockertest.Client(t, n.docker)
	c, err := api.ContainerInspect(t.Context(), like, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := *c.Container.Config
	config.Labels = map[string]string{"nullops.install": "somebody-else",
		"nullops.deployment": c.Container.Config.Labels["nullops.deployment"],
		"nullops.kind":       "service", "nullops.step": "web"}
	made, err := api.ContainerCreate(t.Context(),
		client.ContainerCreateOptions{Name: "bystander", Config: &config})
	if err == nil {
		_, err = api.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// removeNetwork does what the command line does: it disconnects all containers first.
func removeNetwork(t *testing.T, api *client.Client, deployment string) error {
	t.Helper()
	list, err := api.NetworkList(t.Context(), client.NetworkListOptions{
		Filters: client.Filters{}.Add("label", "nullops.deployment="+deployment)})
	if err != nil {
		return err
	}
	for _, network := range list.Items {
		r, err := api.NetworkInspect(t.Context(), network.ID, client.NetworkInspectOptions{})
		if err != nil {
			return err
		}
		for id := range r.Network.Containers {
			_, err := api.NetworkDisconnect(t.Context(), network.ID,
				client.NetworkDisconnectOptions{Container: id, Force: true})
			if err != nil {
				return err
			}
		}
		_, err = api.NetworkRemove(t.Context(), network.ID, client.NetworkRemoveOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// reboot takes the machine's power away, and restores it: only what was on its disk is there again.
func (n *node) reboot(t *testing.T, engine *dockertest.Daemon) {
	t.Helper()
	n.agent.kill()
	engine.PowerOff()
	volatile, err := filepath.Glob(filepath.Join(n.run, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range volatile {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	// The agent may be up before the engine is.
	n.start(t)
	engine.PowerOn()
}

// expireWhileAway lets the clock of one deployment's cleanup rule run out, and no
// other's: their project says never.
func expireWhileAway(t *testing.T, p *product, n *node, d, stays apiclient.Deployment) {
	t.Helper()
	p.admin.put(t, "/environments/qa",
		object{"domain": "localhost", "cleanup_after_hours": 1}, nil)
	p.admin.put(t, "/projects/"+stays.Project, object{"resources": object{"cpu": 2,
		"memory_mib": 512}, "cleanup_after_hours": 0}, nil)
	at := p.admin.deployment(t, d.Id).ExpiresAt
	if at == nil || p.admin.deployment(t, stays.Id).ExpiresAt != nil {
		t.Fatalf("%s expires at %v, %s at %v", d.Name, at, stays.Name,
			p.admin.deployment(t, stays.Id).ExpiresAt)
	}
	if out := p.does(t, "list"); !strings.Contains(out, "in 5") {
		t.Errorf("the list does not say when %s expires:\n%s", d.Name, out)
	}
	conn, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(),
		"UPDATE deployments SET active_at = active_at - interval '61 minutes'")
	if err != nil {
		t.Fatal(err)
	}
	gone := p.admin.await(t, d.Id, apiclient.DeploymentStatusRemoved)
	n.nothingLeft(t, d.Id)
	// promise: N-262
	if textOf(gone.RemovedBy) != "cleanup" {
		t.Errorf("%s was removed by %s", d.Name, textOf(gone.RemovedBy))
	}
	// The project that says never wins over the environment that says an hour.
	// promise: N-263
	if now := p.admin.deployment(t, stays.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("a deployment that may stay for ever is %s", now.Status)
	}
	if !strings.Contains(p.audit(t), "system:cleanup expire deployment deployment "+d.Name+" ok") {
		t.Errorf("the journal says nothing of it:\n%s", p.audit(t))
	}
}

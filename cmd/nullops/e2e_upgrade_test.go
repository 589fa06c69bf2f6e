package main_test

import (
	"archive/tar"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// agentUpgrade runs an agent of an older release as a container, as the line of
// the add-node form does, and has the control plane replace it. What runs on the
// node must not notice.
//
// fault: F28
func agentUpgrade(t *testing.T, w *world) {
	testpart.Rotate(t)
	engine := dockertest.StartDaemon(t)
	bridgeRegistry(t, engine, w.registry)
	api := dockertest.Client(t, engine.Host)
	older := w.build(t, "e2e-older")
	importAgent(t, api, older, "nullops/agent:e2e-older")
	importAgent(t, api, w.binary, "nullops/agent:e2e")
	p := startProduct(t, w)
	p.applyShop(t)
	p.define(t, "stays", webStep("web"))
	n := p.addNode(t, "boxed", "qa")
	n.docker = engine.Host
	enterNode(t, engine, n.address, portOf(n.address))

	// First the right release, so that something runs; then the older one, as if
	// the control plane had been upgraded meanwhile.
	n.box(t, engine, "nullops/agent:e2e")
	// promise: V-19
	n.await(t, apiclient.NodeStatusOnline)
	d := p.admin.deployReady(t, "stays", "stays", nil)
	p.answers(t, serviceURL(t, d, "web"))
	parts := n.containers(t, d.Id)
	n.unbox(t)
	n.box(t, engine, "nullops/agent:e2e-older")
	shown := n.await(t, apiclient.NodeStatusIncompatible) // promise: N-217
	if textOf(shown.Build) != "e2e-older" || shown.Inventory == nil ||
		!strings.Contains(textOf(shown.StatusDetail), "nullops node upgrade boxed") {
		t.Errorf("the incompatible node shows %v and says %q", textOf(shown.Build),
			textOf(shown.StatusDetail))
	}
	// promise: N-218
	if out := p.does(t, "node", "list"); !strings.Contains(out, "nullops node upgrade boxed") {
		t.Errorf("the list of nodes does not say how to upgrade:\n%s", out)
	}
	asked := time.Now()
	p.does(t, "node", "upgrade", "boxed")
	shown = n.await(t, apiclient.NodeStatusOnline)
	t.Logf("online with the new release %s after it was asked for",
		time.Since(asked).Round(100*time.Millisecond))
	if textOf(shown.Build) != "e2e" {
		t.Errorf("it runs %s", textOf(shown.Build))
	}
	p.answers(t, serviceURL(t, d, "web"))
	for part, before := range parts {
		now := n.containers(t, d.Id)[part]
		if now.ID != before.ID || now.State.StartedAt != before.State.StartedAt {
			t.Errorf("the %s was restarted by the upgrade of the agent", part)
		}
	}
	eventually(t, "only the new agent is there, called as before", func() string {
		return n.agents(t, "nullops-agent nullops/agent:e2e running")
	})
	if out, errs, code := p.admin.cli(t, "node", "upgrade", "boxed"); code != 3 ||
		!strings.Contains(errs, "already") {
		t.Errorf("once more: exit code %d, %s%s", code, out, errs)
	}
	n.keepsOldAgent(t, api)
	p.admin.remove(t, d.Id)
	n.unbox(t)
	p.startFromSeed(t, engine)
}

// startFromSeed starts an agent with the install line of the product's description, which
// mounts no folder in memory. Only the token and where the engine keeps its socket and folders
// differ.
func (p *product) startFromSeed(t *testing.T, engine *dockertest.Daemon) {
	t.Helper()
	n := p.addNode(t, "seeded", "qa")
	n.docker = engine.Host
	enterNode(t, engine, n.address, "5000")
	importAgent(t, dockertest.Client(t, engine.Host), p.w.binary, "nullops/agent:latest")
	line := "docker run -d -p 5000:5000 -e AGENT_TOKEN=" + n.token +
		" -v /var/run/docker.sock:/var/run/docker.sock -v /var/lib/nullops-agent:/data" +
		" nullops/agent:latest"
	id := n.runLine(t, engine, strings.Fields(line))
	n.await(t, apiclient.NodeStatusOnline)
	const secret = "seeded-Secret-7261"
	step := webStep("web")
	step["service"].(object)["env"] = object{"API_URL": "http://nobody:1",
		"TOKEN": "${{ secrets.TOKEN }}"}
	p.define(t, "sealed", webStep("web"))
	p.admin.put(t, "/projects/sealed/secrets/TOKEN", object{"value": secret}, nil)
	p.savePipeline(t, "sealed", step)
	open := p.admin.deployReady(t, "stays", "open", nil)
	sealed := p.admin.deployReady(t, "sealed", "sealed", nil)
	// promise: N-334
	p.answers(t, serviceURL(t, open, "web"))
	p.answers(t, serviceURL(t, sealed, "web"))
	if got := n.inside(t, sealed.Id).env["TOKEN"]; got != secret {
		t.Errorf("the service has the secret %q", got)
	}
	if hits := p.sightings(t, n, secret); len(hits) > 0 {
		t.Errorf("the secret is in %v", hits)
	}
	folder := n.secretsFolder(t, sealed.Id)
	if !strings.HasPrefix(folder, "/run/nullops/") && !strings.HasPrefix(folder, "/dev/shm/nullops/") {
		t.Errorf("the secrets are in %s", folder)
	}
	p.admin.remove(t, open.Id)
	p.admin.remove(t, sealed.Id)
	if _, err := os.Stat(folder); err == nil {
		t.Errorf("%s is still there", folder)
	}
	n.removeContainer(t, id)
	// INSTALLATION/DEPLOYMENT/STEP/env
	_ = os.Remove(filepath.Join(folder, "../../.."))
}

// secretsFolder is where the service's secrets are on the machine.
func (n *node) secretsFolder(t *testing.T, deployment string) string {
	t.Helper()
	for _, m := range n.containers(t, deployment)["web"].Mounts {
		if m.Destination == "/.nullops/run" {
			return m.Source
		}
	}
	t.Fatal("the service has no folder with secrets")
	return ""
}

// keepsOldAgent offers an image that does not stay up: the old agent keeps running.
func (n *node) keepsOldAgent(t *testing.T, api *client.Client) {
	t.Helper()
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("this is no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	importAgent(t, api, broken, "nullops/agent:broken")
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{
		Filters: client.Filters{}.Add("name", "^/nullops-agent$")})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("agents: %+v, %v", list.Items, err)
	}
	_, errs, code := runCommand(t, n.p.w.binary, []string{"DOCKER_HOST=" + n.docker}, "",
		"agent-replace", list.Items[0].ID, "nullops/agent:broken")
	if code == 0 || !strings.Contains(errs, "new agent") {
		t.Errorf("a broken image: exit code %d, %s", code, errs)
	}
	if missing := n.agents(t, "nullops-agent nullops/agent:e2e running"); missing != "" {
		t.Errorf("after a broken image: %s", missing)
	}
	n.await(t, apiclient.NodeStatusOnline)
}

// importAgent makes an image of the one file that an agent is.
func importAgent(t *testing.T, api *client.Client, binary, name string) {
	t.Helper()
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for _, dir := range []string{"app/", "run/", "data/", "etc/"} {
		err = archive.WriteHeader(&tar.Header{Name: dir, Mode: 0o755, Typeflag: tar.TypeDir})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range []tar.Header{{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir},
		{Name: "app/nullops", Mode: 0o755, Size: int64(len(data))}} {
		if err := archive.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := archive.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &b, SourceName: "-"},
		name, client.ImageImportOptions{Changes: []string{
			`ENTRYPOINT ["/app/nullops", "agent"]`, "USER 0:0"}})
	if err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
	defer func() { _ = r.Close() }()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
}

// box starts the agent with the very line that adding the node showed, but for
// the image and for where this machine's engine keeps its socket and folders. It returns
// the container's id.
func (n *node) box(t *testing.T, engine *dockertest.Daemon, image string) string {
	t.Helper()
	args := strings.Fields(n.command)
	if len(args) < 4 || args[0] != "docker" || args[1] != "run" {
		t.Fatalf("the line is %q", n.command)
	}
	args = append(args[:len(args)-1], "-e", "NULLOPS_AGENT_GUARD=false", image)
	return n.runLine(t, engine, args)
}

// runLine runs an install line on the engine, whose socket and folders are elsewhere than on a
// machine of its own.
func (n *node) runLine(t *testing.T, engine *dockertest.Daemon, args []string) string {
	t.Helper()
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "/var/run/docker.sock:"):
			args[i] = strings.TrimPrefix(engine.Host, "unix://") + ":/var/run/docker.sock"
		case strings.HasSuffix(a, ":/data"):
			args[i] = n.data + ":/data"
		case strings.HasPrefix(a, "/run/nullops:"):
			args[i] = n.run + ":/run/nullops"
		}
	}
	c := exec.CommandContext(t.Context(), "docker", append([]string{"--host", engine.Host},
		args[1:]...)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
	id := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		for _, agent := range []string{"nullops-agent", id} {
			if t.Failed() {
				out, _ := exec.Command("docker", "--host", engine.Host, "logs", "--tail", "30",
					agent).CombinedOutput()
				t.Logf("the agent in its container:\n%s", out)
			}
		}
	})
	return id
}

func (n *node) unbox(t *testing.T) {
	t.Helper()
	n.removeContainer(t, "nullops-agent")
}

// removeContainer removes a container from the node's engine.
func (n *node) removeContainer(t *testing.T, container string) {
	t.Helper()
	_, err := dockertest.Client(t, n.docker).ContainerRemove(t.Context(), container,
		client.ContainerRemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

// agents compares the containers that are not a deployment's with the one that
// should be there.
func (n *node) agents(t *testing.T, want string) (missing string) {
	t.Helper()
	list, err := dockertest.Client(t, n.docker).ContainerList(t.Context(),
		client.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, c := range list.Items {
		if c.Labels["nullops.deployment"] == "" {
			found = append(found, strings.TrimPrefix(c.Names[0], "/")+" "+c.Image+" "+
				string(c.State))
		}
	}
	if len(found) != 1 || found[0] != want {
		return strings.Join(found, ", ") + " is there, and not only " + want
	}
	return ""
}

// enterNode lets this machine reach an agent's port on one with a network of its
// own, where it has this port.
func enterNode(t *testing.T, engine *dockertest.Daemon, address, port string) {
	t.Helper()
	socket := filepath.Join(shortDir(t), "node.sock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := exec.Command("nsenter", "--net=/var/run/netns/"+filepath.Base(engine.Root), self)
	inside.Env = append(os.Environ(), "E2E_RELAY_ENTER="+socket,
		"E2E_RELAY_ADDRESS=127.0.0.1:"+port)
	inside.Stderr = os.Stderr
	if err := inside.Start(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go copyBoth(conn, "unix", socket)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		_ = inside.Process.Kill()
		_ = inside.Wait() // killed: its error says so
	})
}

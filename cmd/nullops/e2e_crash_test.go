package main_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// answers waits until a service answers through the ingress.
func (p *product) answers(t *testing.T, url string) {
	t.Helper()
	p.answersWithin(t, patience, url)
}

func (p *product) answersWithin(t *testing.T, limit time.Duration, url string) {
	t.Helper()
	within(t, limit, url+" answers", func() string {
		if a := p.visit(t, url+"/healthz"); a.status != http.StatusOK {
			return a.String()
		}
		return ""
	})
}

// agentDies kills the agent when a deployment is ready, in the middle of another
// one's plugin, and with its state destroyed.
func agentDies(t *testing.T, w *world) {
	p, book := startProduct(t, w), newLedger(t)
	p.ingress.stop(t)
	p.startIngress(t, "NULLOPS_INGRESS_SOCKETS="+p.sockets())
	p.applyShop(t)
	p.defineHostile(t)
	n := p.addNode(t, "mortal", "qa")
	n.more = []string{"--agent.sockets=" + p.sockets()}
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.define(t, "stays", webStep("web"))
	p.define(t, "dies", book.ledgerStep("first", "ledger", nil, nil),
		book.ledgerStep("slow", "ledger-sleep", []string{"first"}, object{"seconds": 120}),
		book.ledgerStep("never", "ledger", []string{"slow"}, nil))
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	url := serviceURL(t, stays, "web")
	p.answers(t, url)
	p.answersPast(t, n, url)
	container := n.containers(t, stays.Id)["web"].ID
	dies := p.admin.deploy(t, "dies", "dies", nil)
	book.await(t, "dies", "create slow")
	n.mustBeThere(t, dies.Id, "container", "network")
	bell := p.watchAlarms(t, "node.offline", "controlplane.failing")
	n.agent.kill()
	n.awaitWithin(t, soon, apiclient.NodeStatusOffline) // promise: N-214, N-216
	bell.rings(t, "node.offline", `"name":"`+n.name+`"`, func() {})
	within(t, soon, "the page says that the node is offline", func() string {
		a := p.visit(t, url+"/healthz")
		// promise: N-186
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			return formatNumber(a.status)
		}
		return ""
	})
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	d := p.admin.await(t, dies.Id, apiclient.DeploymentStatusFailed)
	want := []string{"create first", "create slow", "delete slow", "delete first"}
	if got := book.of("dies"); !slices.Equal(got, want) {
		t.Errorf("ledger %v, wanted %v: an unknown outcome is neither repeated nor left", got, want)
	}
	if d.Failure == nil || textOf(d.Failure.Step) != "slow" {
		t.Errorf("failure %+v", d.Failure)
	}
	n.nothingLeft(t, dies.Id)
	p.answersWithin(t, soon, url) // promise: N-150, N-187
	p.answersPast(t, n, url)
	if now := n.containers(t, stays.Id)["web"].ID; now != container {
		t.Errorf("the service was started anew: %s, was %s", now, container)
	}
	driftWhileAway(t, p, n, stays, url)
	answeredWhileDead(t, p, n, book)
	goneBeforeItBegan(t, p, n)
	corruptMemory(t, p, n, stays, url)
	p.changedAudit(t, bell)
}

// answersPast stops the agent's process for a moment: a service on the machine of the ingress
// answers all the same, because its connection leads past the agent.
func (p *product) answersPast(t *testing.T, n *node, url string) {
	t.Helper()
	n.freeze(t)
	defer n.thaw(t)
	client := p.client()
	client.Timeout = 10 * time.Second
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(r)
		// promise: P-04
		if err != nil {
			t.Fatalf("past an agent that stands still: %v", err)
		}
		_ = a.Body.Close()
		if a.StatusCode != http.StatusOK {
			t.Errorf("past an agent that stands still: %s", a.Status)
		}
	}
}

// driftWhileAway removes a service and plants a stranger while the agent is away.
func driftWhileAway(t *testing.T, p *product, n *node, stays apiclient.Deployment, url string) {
	t.Helper()
	n.agent.kill()
	api := dockertest.Client(t, n.docker)
	web := n.containers(t, stays.Id)["web"]
	_, err := api.ContainerRemove(t.Context(), web.ID, client.ContainerRemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	const orphan = "01a1fc00-0000-7000-8000-000000000000"
	_, err = api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "nullops-orphan-" + orphan + "-" + n.install(t),
		Config: &container.Config{Image: web.Config.Image, Labels: map[string]string{
			"nullops.install": n.install(t), "nullops.deployment": orphan,
			"nullops.kind": "service", "nullops.step": "web"}}})
	if err != nil {
		t.Fatal(err)
	}
	n.mustBeThere(t, orphan, "container")
	n.start(t)
	// promise: N-239
	p.answers(t, url) // promise: N-158, N-159
	// promise: N-153
	eventually(t, "what no deployment owns is removed", func() string {
		return strings.Join(n.leftOf(t, orphan), " ")
	})
	if now := p.admin.deployment(t, stays.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("after the repair it is %s", now.Status)
	}
}

// goneBeforeItBegan loses the agent after it was sent a run, and before it could
// begin: the run stays queued, and is sent again to the agent that comes back.
func goneBeforeItBegan(t *testing.T, p *product, n *node) {
	t.Helper()
	n.freeze(t)
	d := p.admin.deploy(t, "stays", "patient", nil)
	before := 0
	eventually(t, "the run is on its way to the agent", func() string {
		if q := p.admin.run(t, d).Queue; q != nil {
			before = q.Attempts
		}
		if before == 0 {
			return "it was told to nobody"
		}
		return ""
	})
	n.agent.kill()
	n.await(t, apiclient.NodeStatusOffline)
	// promise: V-21
	if now := p.admin.deployment(t, d.Id); now.Status != apiclient.DeploymentStatusQueued {
		t.Errorf("without its agent it is %s", now.Status)
	}
	n.start(t)
	p.admin.await(t, d.Id, apiclient.DeploymentStatusReady) // promise: V-21
	r := p.admin.run(t, d)
	// promise: V-25
	if r.Queue.Attempts <= before || r.Number != 1 {
		t.Errorf("run %d was told %d times, before its agent went %d", r.Number,
			r.Queue.Attempts, before)
	}
	p.admin.remove(t, d.Id)
}

// corruptMemory overwrites everything the agent remembers about its work.
func corruptMemory(t *testing.T, p *product, n *node, stays apiclient.Deployment, url string) {
	t.Helper()
	n.agent.kill()
	n.corruptJournal(t)
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.answers(t, url) // promise: N-160, N-156, N-157
	if now := p.admin.deployment(t, stays.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("after its agent forgot everything it is %s", now.Status)
	}
	p.admin.remove(t, stays.Id)
	n.nothingLeft(t, stays.Id)
}

func (n *node) corruptJournal(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.data, "journal*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journal in %s: %v", n.data, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			if err := os.WriteFile(file, []byte(strings.Repeat("garbage\n", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// controlPlaneDies kills the control plane while runs are under way: the agent continues by itself,
// forwards and backwards, and reports when it is back.
func controlPlaneDies(t *testing.T, w *world) {
	testpart.Rotate(t)
	p, book := startProduct(t, w), newLedger(t)
	p.applyShop(t)
	p.defineHostile(t)
	n := p.enrol(t, "alone", "qa")
	// As long as a busy machine needs to begin both runs: the first has not ended by then.
	slow := book.ledgerStep("slow", "ledger-sleep", nil, object{"seconds": 10})
	p.define(t, "forwards", slow, webStep("web", "slow"))
	p.define(t, "backwards", slow, hostileStep("no", []string{"slow"}, object{"mode": "say-no"}))
	p.define(t, "stays", webStep("web"))
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	url := serviceURL(t, stays, "web")
	p.answers(t, url)
	forwards := p.admin.deploy(t, "forwards", "forwards", nil)
	live := p.admin.follow(t, "/deployments/"+forwards.Id+"/events", "")
	backwards := p.admin.deploy(t, "backwards", "backwards", nil)
	book.await(t, "forwards", "create slow")
	book.await(t, "backwards", "create slow")
	live.awaitData(t, "step", `"status":"running"`)
	seen := live.ids()
	p.controlPlane.kill()
	// promise: B-03
	// promise: N-091, N-270
	eventually(t, "the agent goes on alone", func() string {
		if c, ok := n.containers(t, forwards.Id)["web"]; !ok || !c.State.Running {
			return "web does not run"
		}
		return ""
	})
	// promise: N-094
	eventually(t, "the agent rolls back alone", func() string {
		return strings.Join(n.leftOf(t, backwards.Id), " ")
	})
	if a := p.visit(t, url+"/healthz"); a.status != http.StatusOK {
		t.Errorf("without a control plane, what is ready answers %d", a.status)
	}
	p.startControlPlane(t)
	// Nobody signs in again: tokens, like all else, are in the database.
	// promise: Y-03
	// promise: N-270, N-271
	p.admin.await(t, forwards.Id, apiclient.DeploymentStatusReady) // promise: N-300
	d := p.admin.await(t, backwards.Id, apiclient.DeploymentStatusFailed)
	// promise: N-271, V-09
	if d.Failure == nil || !strings.Contains(d.Failure.Message, "says no") {
		t.Errorf("failure %+v", d.Failure)
	}
	if got := book.of("backwards"); !slices.Equal(got, []string{"create slow", "delete slow"}) {
		t.Errorf("ledger %v", got)
	}
	if got := book.of("forwards"); !slices.Equal(got, []string{"create slow"}) {
		t.Errorf("ledger %v", got)
	}
	resumed := p.admin.follow(t, "/deployments/"+forwards.Id+"/events", seen[len(seen)-1])
	resumed.awaitData(t, "deployment", `"status":"ready"`)
	for _, id := range resumed.ids() {
		if slices.Contains(seen, id) {
			t.Errorf("event %s came again after %v", id, seen)
		}
	}
	for _, d := range []apiclient.Deployment{stays, forwards} {
		p.answers(t, serviceURL(t, d, "web"))
		p.admin.remove(t, d.Id)
		n.nothingLeft(t, d.Id)
	}
	unansweredAlone(t, p, n, book)
	wrongKey(t, p)
}

// engineDies kills a Docker Engine under a ready deployment and one in mid-run.
//
// fault: F37
func engineDies(t *testing.T, w *world) {
	testpart.Rotate(t)
	engine := dockertest.StartDaemon(t)
	bridgeRegistry(t, engine, w.registry)
	p := startProduct(t, w)
	p.applyShop(t)
	p.defineHostile(t)
	n := p.addNode(t, "engine", "qa")
	n.docker = engine.Host
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.define(t, "stays", webStep("web"))
	p.define(t, "dies", hostileStep("first", nil, object{}),
		hostileStep("slow", []string{"first"}, object{"mode": "sleep", "seconds": 120}))
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	url := serviceURL(t, stays, "web")
	p.answers(t, url)
	dies := p.admin.deploy(t, "dies", "dies", nil)
	// promise: N-079
	eventually(t, "the slow plugin runs", func() string {
		if s := findStep(t, p.admin.run(t, dies), "slow"); s.Lines == 0 {
			return string(s.Status)
		}
		return ""
	})
	n.mustBeThere(t, dies.Id, "container", "network")
	engine.Kill()
	engine.Start()
	p.admin.await(t, dies.Id, apiclient.DeploymentStatusFailed)
	n.nothingLeft(t, dies.Id)
	p.answers(t, url)
	eventually(t, "the service is healthy again", func() string {
		d := p.admin.deployment(t, stays.Id)
		if d.Status != apiclient.DeploymentStatusReady ||
			d.Services[0].Health != apiclient.HealthHealthy {
			return string(d.Status) + " " + string(d.Services[0].Health)
		}
		return ""
	})
	if got := serviceURL(t, p.admin.deployment(t, stays.Id), "web"); got != url {
		t.Errorf("its URL is %s, was %s", got, url)
	}
	comesBack(t, p, n, engine, stays)
	p.define(t, "short", webStep("web"))
	expireWhileAway(t, p, n, p.admin.deployReady(t, "short", "short", nil), stays)
	p.admin.remove(t, stays.Id)
	n.nothingLeft(t, stays.Id)
	engine.Kill()
	gone := map[string]string{"node.check": "The container engine does not answer"}
	p.awaitAlerts(t, true, gone) // promise: O-02
	engine.Start()
	p.awaitAlerts(t, false, gone) // promise: O-02
}

// bridgeRegistry lets an engine with a network of its own reach the registry at
// the same address as everybody else.
func bridgeRegistry(t *testing.T, engine *dockertest.Daemon, registry string) {
	t.Helper()
	socket := filepath.Join(shortDir(t), "registry.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go copyBoth(conn, "tcp", registry)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := exec.Command("nsenter", "--net=/var/run/netns/"+filepath.Base(engine.Root), self)
	inside.Env = append(os.Environ(), "E2E_RELAY_SOCKET="+socket, "E2E_RELAY_ADDRESS="+registry)
	inside.Stderr = os.Stderr
	if err := inside.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		_ = inside.Process.Kill()
		_ = inside.Wait() // killed: its error says so
	})
}

// wrongKey starts the control plane with another key than its secrets' own.
func wrongKey(t *testing.T, p *product) {
	t.Helper()
	p.controlPlane.stop(t)
	out, _, _ := runCommand(t, p.w.binary, nil, "", "keys", "new")
	_, errs, code := runCommand(t, p.w.binary, []string{"DATABASE_URL=" + p.database,
		"NULLOPS_MASTER_KEYS=" + strings.TrimSpace(out)}, "", "controlplane",
		"--http.listen="+p.http)
	// promise: N-119
	if code == 0 || !strings.Contains(errs, "key") {
		t.Errorf("with another key it ended with %d: %s", code, errs)
	}
	p.startControlPlane(t)
	p.admin.get(t, "/projects/shop", nil)
}

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/previoustest"
	"github.com/nullops/nullops/internal/testpart"
)

// upgraded is an installation of the previous release with a deployment in every state, on two
// nodes: the agent of one runs in a container, that of the other as a plain process.
type upgraded struct {
	*product
	boxed, plain *node
	// made are the deployments by name.
	made map[string]apiclient.Deployment
}

// upgradedRelease runs the previous release with a deployment in every state, and upgrades it as
// docs/recovery.md says: database, ingress, control plane, agents. Nothing restarts, nothing is
// lost, and a visitor does not notice.
//
// fault: F28
func upgradedRelease(t *testing.T, w *world) {
	testpart.Rotate(t)
	u := startPrevious(t, w)
	if previoustest.IsRecording() {
		u.recordFixtures(t)
	}
	containers, texts := u.listContainers(t), u.listTexts(t)
	visitor := u.startVisitor(t)

	u.w = w // from here on every program is of this release
	u.replaceServers(t, visitor)
	for _, n := range []*node{u.boxed, u.plain} {
		n.await(t, apiclient.NodeStatusIncompatible)
	}
	visitor.mustGoOn(t)
	asked := time.Now()
	u.does(t, "node", "upgrade", u.boxed.name)
	u.boxed.await(t, apiclient.NodeStatusOnline)
	t.Logf("the agent was replaced in %s", time.Since(asked).Round(100*time.Millisecond))
	u.plain.agent.stop(t)
	u.plain.binary = w.binary
	u.plain.start(t)
	u.plain.await(t, apiclient.NodeStatusOnline)
	visitor.mustGoOn(t)
	visitor.checkFailures(t)
	u.checkContainers(t, containers)
	u.checkTexts(t, texts)
	u.finishAll(t)
}

// startPrevious starts the previous release and brings a deployment into every state.
func startPrevious(t *testing.T, w *world) *upgraded {
	t.Helper()
	engine := dockertest.StartDaemon(t)
	bridgeRegistry(t, engine, w.registry)
	older := &world{t: t, docker: w.docker, registry: w.registry, binary: w.buildPrevious(t)}
	api := dockertest.Client(t, engine.Host)
	importAgent(t, api, older.binary, "nullops/agent:"+previousBuild)
	importAgent(t, api, w.binary, "nullops/agent:e2e")
	u := &upgraded{product: startProductOn(t, older, pgtest.NewEmptyDatabase(t)),
		made: map[string]apiclient.Deployment{}}
	u.applyShop(t)
	u.defineHostile(t)
	u.boxed = u.addNode(t, "boxed", "qa")
	u.boxed.docker = engine.Host
	enterNode(t, engine, u.boxed.address, portOf(u.boxed.address))
	u.boxed.box(t, engine, "nullops/agent:"+previousBuild)
	u.boxed.await(t, apiclient.NodeStatusOnline)
	u.plain = u.addNode(t, "plain", "qa")
	u.plain.subnets = "10.238.0.0/20"
	u.plain.start(t)
	u.plain.await(t, apiclient.NodeStatusOnline)
	for _, n := range []*node{u.boxed, u.plain} {
		u.admin.put(t, "/nodes/"+n.name, object{"environment": "qa", "address": n.address,
			"settings": object{"labels": object{"kind": n.name}}}, nil)
	}
	u.defineStates(t)
	u.reachStates(t)
	return u
}

// previousSecret is the value of a secret of the previous release.
const previousSecret = "previous-Secret-4711"

// defineStates defines a project for each state.
func (u *upgraded) defineStates(t *testing.T) {
	t.Helper()
	image := dockertest.PublishActorImage(t, u.w.docker, "nullops-test/previous",
		`ENTRYPOINT ["/actor"]`)
	for _, service := range []string{"keeping", "migration"} {
		u.admin.put(t, "/services/"+service, object{"registry": "local", "image": image.Repository,
			"tag_mode": "pinned", "tag": image.Tag}, nil)
	}
	u.define(t, "sealed", webStep("web"))
	u.admin.put(t, "/projects/sealed/secrets/TOKEN", object{"value": previousSecret}, nil)
	u.savePipeline(t, "sealed", withEnv(webStep("web"), "shop-web", object{
		"API_URL": "http://nobody:1", "TOKEN": "${{ secrets.TOKEN }}"}))
	u.define(t, "keeps", keepingService(false))
	tested := jobStep("tests", "0")
	job := tested["job"].(object)
	job["command"], job["tests"] = []string{"results", "/results"}, object{"junit": "/results/a.xml"}
	u.define(t, "tested", tested, webStep("web", "tests"))
	for project, node := range map[string]string{"sealed": "boxed", "tested": "plain"} {
		u.admin.put(t, "/projects/"+project, object{"resources": object{"cpu": 2, "memory_mib": 512},
			"placement": object{"required": []string{"kind=" + node}}}, nil)
	}
	u.define(t, "failing", hostileStep("first", nil, object{}), jobStep("job", "3", "first"))
	u.define(t, "sticky", hostileStep("glue", nil, object{"delete_mode": "say-no"}),
		hostileStep("worse", []string{"glue"}, object{"mode": "say-no"}))
	u.define(t, "asking", webStep("web"), approvalStep("ask", []string{"web"}, nil))
	slow := jobStep("job", "0")
	slow["job"].(object)["command"] = []string{"sleep-ms", "30000"}
	u.define(t, "running", slow, webStep("web", "job"))
	u.define(t, "leaving", hostileStep("slow", nil,
		object{"delete_mode": "sleep", "seconds": 20}), webStep("web", "slow"))
}

// reachStates brings one deployment into each state.
func (u *upgraded) reachStates(t *testing.T) {
	t.Helper()
	for name, project := range map[string]string{"open": "sealed", "sealed": "sealed",
		"moved": "keeps", "tested": "tested", "failed": "failing", "stuck": "sticky",
		"forgotten": "sticky", "asking": "asking", "leaving": "leaving", "gone": "sealed"} {
		u.made[name] = u.admin.deploy(t, project, name, nil)
	}
	for name, status := range map[string]apiclient.DeploymentStatus{
		"open": apiclient.DeploymentStatusReady, "sealed": apiclient.DeploymentStatusReady,
		"moved": apiclient.DeploymentStatusReady, "tested": apiclient.DeploymentStatusReady,
		"failed": apiclient.DeploymentStatusFailed, "stuck": apiclient.DeploymentStatusStuck,
		"forgotten": apiclient.DeploymentStatusStuck, "leaving": apiclient.DeploymentStatusReady,
		"gone": apiclient.DeploymentStatusReady} {
		u.made[name] = u.admin.await(t, u.made[name].Id, status)
	}
	u.admin.question(t, u.made["asking"])
	u.nodeOf(t, "moved").write(t, u.made["moved"].Id, "page", previousSecret)
	u.admin.move(t, "moved")
	other := u.boxed
	if u.nodeOf(t, "moved") == u.boxed {
		other = u.plain
	}
	u.admin.arrives(t, u.made["moved"], other)
	u.admin.remove(t, u.made["gone"].Id)
	u.admin.want(t, http.StatusOK, http.MethodPost,
		"/deployments/"+u.made["forgotten"].Id+"/forget", nil, nil)
	// What takes a while begins last, so that it is under way during the upgrade.
	u.made["running"] = u.admin.deploy(t, "running", "running", nil)
	u.admin.await(t, u.made["running"].Id, apiclient.DeploymentStatusApplying)
	u.admin.put(t, "/environments/qa", object{"domain": "localhost",
		"capacity": object{"cpu_overcommit": 0.1}}, nil)
	var queued apiclient.Deployment
	u.admin.want(t, http.StatusCreated, http.MethodPost, "/deployments", object{"name": "queued",
		"project": "sealed", "environment": "qa", "wait": true}, &queued)
	u.made["queued"] = queued
	u.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+u.made["leaving"].Id,
		nil, nil)
	eventually(t, "the plugin that takes a while is being undone", func() string {
		return missingPart(strings.Join(u.admin.stepLog(t, u.made["leaving"], "slow"), " "), "slept")
	})
	for name := range u.made {
		u.made[name] = u.admin.deployment(t, u.made[name].Id)
	}
	if got := u.made["queued"].Status; got != apiclient.DeploymentStatusQueued {
		t.Fatalf("the deployment that has to wait for room is %s", got)
	}
}

// nodeOf is where a deployment is now.
func (u *upgraded) nodeOf(t *testing.T, name string) *node {
	t.Helper()
	return u.node(textOf(u.admin.deployment(t, u.made[name].Id).Node))
}

// listContainers lists the containers of all deployments with the time at which they started.
func (u *upgraded) listContainers(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, n := range []*node{u.boxed, u.plain} {
		api := dockertest.Client(t, n.docker)
		list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true,
			Filters: client.Filters{}.Add("label", "nullops.install="+n.install(t))})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			r, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
			if c.Labels["nullops.deployment"] == "" || err != nil {
				continue // the agent itself, or gone in between
			}
			all[c.ID] = fmt.Sprintf("%s of %s on %s, started at %s", c.Labels["nullops.step"],
				c.Labels["nullops.deployment"], n.name, r.Container.State.StartedAt)
		}
	}
	return all
}

// checkContainers compares the containers with those from before the upgrade.
func (u *upgraded) checkContainers(t *testing.T, before map[string]string) {
	t.Helper()
	now := u.listContainers(t)
	for id, what := range before {
		ends := strings.Contains(what, u.made["leaving"].Id) ||
			strings.HasPrefix(what, "job of "+u.made["running"].Id) ||
			// A relay, which belongs to no step, is replaced when a run continues and its program has
			// changed. Connections that it has opened live on without it.
			strings.HasPrefix(what, " of ")
		// promise: R-03
		if now[id] != what && !ends {
			t.Errorf("before the upgrade there was container %s, %s; now %q", id, what, now[id])
		}
	}
}

// replaceServers upgrades the database, starts an ingress of this release beside the old one, as
// behind a load balancer, and replaces the control plane.
func (u *upgraded) replaceServers(t *testing.T, v *visitor) {
	t.Helper()
	u.serves(t, "migrate", "up")
	old := u.ingress
	u.ingressAddr = freeAddress(t)
	u.startIngress(t)
	v.mustGoOn(t)
	address := u.ingressAddr
	v.ingress.Store(&address)
	v.mustGoOn(t)
	old.stop(t)
	u.controlPlane.stop(t)
	u.startControlPlane(t)
}

// listTexts returns what people and programs read of the installation: what it was, and the runs
// of all that has settled.
func (u *upgraded) listTexts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, d := range u.made {
		now := u.admin.deployment(t, d.Id)
		if !isSettled(now.Status) || !isSettled(d.Status) {
			continue
		}
		run := u.admin.run(t, now)
		run.Queue.Attempts = 0 // counts how often the agent was told of the run
		for i := range run.Steps {
			run.Steps[i].UsualSeconds = nil // what counts for it may change
		}
		text, err := json.Marshal([]any{now.Id, now.Status, now.Run, now.PipelineVersion, now.Versions,
			now.Failure, now.Left, now.Node, now.CreatedAt, run})
		if err != nil {
			t.Fatal(err)
		}
		all["deployment "+name] = string(text)
		for _, s := range u.admin.run(t, now).Steps {
			all["log of "+name+" "+s.Key] = strings.Join(u.admin.stepLog(t, now, s.Key), "\n")
		}
	}
	all["audit"] = u.audit(t)
	all["export"] = u.does(t, "export")
	return all
}

// keepsAll reports whether a text is the same as before. In JSON, objects may have new members.
func keepsAll(before, now string) bool {
	var was, is any
	if json.Unmarshal([]byte(before), &was) != nil || json.Unmarshal([]byte(now), &is) != nil {
		return before == now
	}
	return keepsMembers(was, is)
}

func keepsMembers(was, is any) bool {
	switch was := was.(type) {
	case map[string]any:
		is, _ := is.(map[string]any)
		for key, value := range was {
			if now, there := is[key]; !there || !keepsMembers(value, now) {
				return false
			}
		}
		return true
	case []any:
		is, _ := is.([]any)
		return slices.EqualFunc(was, is, keepsMembers)
	}
	return was == is
}

// checkTexts compares the texts with those from before the upgrade.
func (u *upgraded) checkTexts(t *testing.T, before map[string]string) {
	t.Helper()
	now := u.listTexts(t)
	for what, text := range before {
		switch what {
		case "audit":
			if !strings.HasPrefix(now[what], text) {
				t.Errorf("the audit began with\n%s\nand now is\n%s", text, now[what])
			}
		case "export":
			file := filepath.Join(t.TempDir(), "export.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, line := range splitLines(u.does(t, "apply", "--dry-run", "-f", file)) {
				if !strings.HasSuffix(line, " unchanged") {
					t.Errorf("applying what the previous release exported: %s", line)
				}
			}
		default:
			// promise: R-03
			if !keepsAll(text, now[what]) {
				t.Errorf("%s was\n%s\nand is\n%s", what, text, now[what])
			}
		}
	}
	u.does(t, "audit", "verify")
}

// finishAll brings everything that was under way to its end, and removes all.
func (u *upgraded) finishAll(t *testing.T) {
	t.Helper()
	u.admin.put(t, "/environments/qa", object{"domain": "localhost"}, nil)
	u.admin.want(t, http.StatusOK, http.MethodPost, answerPath(u.made["asking"], "ask"),
		object{"approved": true, "fields": object{"rows": 7}}, nil)
	for _, name := range []string{"queued", "asking", "running"} {
		d := u.admin.await(t, u.made[name].Id, apiclient.DeploymentStatusReady)
		u.answers(t, serviceURL(t, d, "web"))
	}
	for _, name := range []string{"sealed", "queued"} {
		got := u.nodeOf(t, name).inside(t, u.made[name].Id).env["TOKEN"]
		// promise: R-03
		if got != previousSecret {
			t.Errorf("%s has the secret %q", name, got)
		}
	}
	page, err := os.ReadFile(filepath.Join(u.nodeOf(t, "moved").volume(t, u.made["moved"].Id), "page"))
	if err != nil || string(page) != previousSecret {
		t.Errorf("the volume of a deployment that was moved holds %q, %v", page, err)
	}
	u.admin.await(t, u.made["leaving"].Id, apiclient.DeploymentStatusRemoved)
	u.admin.want(t, http.StatusOK, http.MethodPost, "/deployments/"+u.made["stuck"].Id+"/forget", nil,
		nil)
	u.admin.remove(t, u.made["failed"].Id)
	for _, name := range []string{"open", "sealed", "moved", "tested", "asking", "running",
		"queued"} {
		n := u.nodeOf(t, name)
		u.admin.remove(t, u.made[name].Id)
		n.nothingLeft(t, u.made[name].Id)
	}
}

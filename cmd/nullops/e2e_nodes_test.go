package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// nodeTrust swaps a node's certificate, its release, and takes it away.
//
// threat: T5
// fault: F25, F27
func nodeTrust(t *testing.T, w *world) {
	p := startProduct(t, w)
	p.applyShop(t)
	n := p.enrol(t, "swapped", "qa")
	p.define(t, "small", webStep("web"))
	d := p.admin.deployReady(t, "small", "small", nil)
	url := serviceURL(t, d, "web")
	p.answers(t, url)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodDelete, "/nodes/swapped", nil, "small")
	before := n.show(t)
	// What it keeps is enough to come back, and is not the token.
	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	token := n.token
	n.token = ""
	n.start(t)
	// promise: N-204, V-13
	if after := n.await(t, apiclient.NodeStatusOnline); textOf(after.Thumbprint) !=
		textOf(before.Thumbprint) {
		t.Errorf("a restart made thumbprint %s of %s", textOf(after.Thumbprint),
			textOf(before.Thumbprint))
	}
	n.keepsNoToken(t, token)
	n.token = token
	n.agent.stop(t)
	files, err := filepath.Glob(filepath.Join(n.data, "*.pem"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no certificate in %s: %v", n.data, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	n.start(t)
	// promise: N-206, N-207
	shown := n.await(t, apiclient.NodeStatusUntrusted)
	p.awaitAlerts(t, true, map[string]string{"node.untrusted": n.name}) // promise: O-02
	pending := textOf(shown.PendingThumbprint)
	if pending == "" || pending == textOf(before.Thumbprint) || shown.PendingProofValid == nil ||
		!*shown.PendingProofValid {
		t.Errorf("the new certificate is shown as %q, proof %v", pending, shown.PendingProofValid)
	}
	creation := object{"name": "more", "project": "small", "environment": "qa"}
	noRoom := p.admin.ask(t, http.MethodPost, "/deployments", creation)
	if noRoom.status < 400 || !strings.Contains(noRoom.body, "untrusted") {
		t.Errorf("placed on an untrusted node: %d %s", noRoom.status, noRoom.body)
	}
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/nodes/swapped/approve",
		object{"thumbprint": strings.Repeat("ab", 32)})
	p.admin.want(t, http.StatusOK, http.MethodPost, "/nodes/swapped/approve",
		object{"thumbprint": pending}, nil)
	// promise: N-208
	if after := n.await(t, apiclient.NodeStatusOnline); textOf(after.Thumbprint) != pending {
		t.Errorf("approved %s, and it is %s", pending, textOf(after.Thumbprint))
	}
	p.awaitAlerts(t, false, map[string]string{"node.untrusted": n.name}) // promise: O-02
	p.answers(t, url)
	otherRelease(t, n)
	p.answers(t, url)
	disableNode(t, n, creation)
	p.answers(t, url)
	p.admin.remove(t, d.Id)
	p.admin.want(t, http.StatusNoContent, http.MethodDelete, "/nodes/swapped", nil, nil)
}

// keepsNoToken looks for the token's secret part in the agent's data.
func (n *node) keepsNoToken(t *testing.T, token string) {
	t.Helper()
	// nopa1_, the key's id, and 256 bits that may have an underscore among them.
	_, rest, _ := strings.Cut(strings.TrimPrefix(token, "nopa1_"), "_")
	n.keepsNoSecret(t, rest[:43])
}

// otherRelease runs another build on the node for a while.
func otherRelease(t *testing.T, n *node) {
	t.Helper()
	n.agent.stop(t)
	n.binary = n.p.w.build(t, "other")
	n.start(t)
	// promise: N-217
	shown := n.await(t, apiclient.NodeStatusIncompatible)
	// promise: N-218
	if detail := textOf(shown.StatusDetail); !strings.Contains(detail, "other") ||
		!strings.Contains(detail, "e2e") {
		t.Errorf("the detail does not name both releases: %q", detail)
	}
	n.p.awaitAlerts(t, true, map[string]string{"node.incompatible": n.name}) // promise: O-02
	n.agent.stop(t)
	n.binary = n.p.w.binary
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	n.p.awaitAlerts(t, false, map[string]string{"node.incompatible": n.name}) // promise: O-02
}

// disableNode switches the node off and on.
func disableNode(t *testing.T, n *node, creation object) {
	t.Helper()
	admin := n.p.admin
	admin.want(t, http.StatusOK, http.MethodPost, "/nodes/"+n.name+"/disable", nil, nil)
	n.await(t, apiclient.NodeStatusDisabled) // promise: N-215
	a := admin.ask(t, http.MethodPost, "/deployments", creation)
	// promise: N-234
	if a.status < 400 || !strings.Contains(a.body, "disabled") {
		t.Errorf("placed on a disabled node: %d %s", a.status, a.body)
	}
	admin.want(t, http.StatusOK, http.MethodPost, "/nodes/"+n.name+"/enable", nil, nil)
	n.await(t, apiclient.NodeStatusOnline)
	// Faster than the session may notice, it must not stay offline for ever.
	for range 5 {
		admin.want(t, http.StatusOK, http.MethodPost, "/nodes/"+n.name+"/disable", nil, nil)
		admin.want(t, http.StatusOK, http.MethodPost, "/nodes/"+n.name+"/enable", nil, nil)
	}
	n.await(t, apiclient.NodeStatusOnline)
	var d apiclient.Deployment
	admin.want(t, http.StatusCreated, http.MethodPost, "/deployments", creation, &d)
	// promise: N-235
	if d = admin.await(t, d.Id, apiclient.DeploymentStatusReady); textOf(d.Node) != n.name {
		t.Errorf("after the node was enabled again, it was placed on %q", textOf(d.Node))
	}
	admin.remove(t, d.Id)
}

// nodeTokens rotates and revokes tokens, and offers wrong ones.
//
// fault: F26
func nodeTokens(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	n := p.enrol(t, "tokens", "qa")
	other := p.addNode(t, "other", "qa")
	old := n.token
	began := time.Now()
	var made apiclient.NodeEnrolment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes/tokens/token", nil, &made)
	if made.Token == old || made.Token == "" {
		t.Fatalf("the new token is the old one")
	}
	// promise: N-211
	n.cutOff(t, began, "a rotated token")
	n.agent.stop(t)
	n.start(t) // still with the old token
	staysAway(t, n)
	n.agent.stop(t)
	n.token = made.Token
	n.start(t)
	n.awaitWithin(t, soon, apiclient.NodeStatusOnline) // promise: N-211

	began = time.Now()
	p.admin.want(t, http.StatusOK, http.MethodDelete, "/nodes/tokens/token", nil, nil)
	// promise: N-212
	n.cutOff(t, began, "a revoked token")
	n.agent.stop(t)

	// An agent with the token of another node.
	n.token, other.address = other.token, n.address
	// promise: N-210
	n.start(t)
	staysAway(t, n)
	n.agent.stop(t)
	startMalformed(t, n)
	zeroTouch(t, p)
}

// cutOff waits until the node is online no more, which takes two seconds at
// most, and on a machine that is too busy to answer in time as much longer.
func (n *node) cutOff(t *testing.T, began time.Time, what string) {
	t.Helper()
	eventually(t, what+" cuts the link", func() string {
		if shown := n.show(t); shown.Status == apiclient.NodeStatusOnline {
			return "it is online"
		}
		return ""
	})
	took, asked := time.Since(began), time.Now()
	for range 5 {
		n.show(t)
	}
	if busy := 10 * time.Since(asked); took > 2*time.Second+busy {
		t.Errorf("%s cut the link after %v; asking ten times as much takes %v", what, took, busy)
	}
}

// staysAway gives the control plane time for several tries.
func staysAway(t *testing.T, n *node) {
	t.Helper()
	until := time.Now().Add(3 * time.Second)
	for time.Now().Before(until) {
		if n.agent.hasEnded() {
			return // refusing to start is as good
		}
		if shown := n.show(t); shown.Status == apiclient.NodeStatusOnline {
			t.Fatalf("a node with a wrong token is %s", shown.Status)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// startMalformed starts agents with tokens that are none.
func startMalformed(t *testing.T, n *node) {
	t.Helper()
	// None at all is enough for an agent that once had one; see no-token for others.
	for _, token := range []string{"nonsense", n.token[:len(n.token)-1],
		strings.Replace(n.token, "nopa1_", "nopa9_", 1)} {
		_, errs, code := runCommand(t, n.binary, []string{"AGENT_TOKEN=" + token}, "", "agent",
			"--agent.listen="+n.address, "--agent.data="+n.data, "--agent.run="+n.run,
			"--agent.docker="+n.docker)
		if code == 0 || !strings.Contains(errs, "agent.token") ||
			strings.Contains(errs, token) {
			t.Errorf("token %.10q…: exit code %d, %s", token, code, errs)
		}
	}
}

// twoNodes places deployments on two machines, and loses one of them.
func twoNodes(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	// Both are this machine, whose memory others use meanwhile: what one asks for
	// has to weigh more than that. It is all that the project may have.
	large := func() object {
		step := webStep("web")
		step["service"].(object)["resources"] = object{"cpu": 0.2, "memory_mib": 512}
		return step
	}
	p.define(t, "small", large())
	nobody := p.admin.ask(t, http.MethodPost, "/deployments", object{"name": "early",
		"project": "small", "environment": "qa"})
	if nobody.status < 400 || !strings.Contains(nobody.body, "no nodes") {
		t.Errorf("without a node: %d %s", nobody.status, nobody.body)
	}
	left, right := p.enrol(t, "left", "qa"), p.enrol(t, "right", "qa")
	one := p.admin.deployReady(t, "small", "one", nil)
	again := large()
	again["service"].(object)["env"] = object{"API_URL": "http://nobody:2"}
	p.define(t, "small", again)
	two := p.admin.deployReady(t, "small", "two", nil)
	on := map[string]apiclient.Deployment{textOf(one.Node): one, textOf(two.Node): two}
	if len(on) != 2 {
		t.Fatalf("both are on node %s", textOf(one.Node)) // promise: N-230
	}
	for _, d := range on {
		p.answers(t, serviceURL(t, d, "web")) // promise: N-185
	}
	toldVersions(t, one, two, left, right)
	toldPlugins(t, p, left, right)
	here, there := serviceURL(t, on["left"], "web"), serviceURL(t, on["right"], "web")
	web := left.containers(t, on["left"].Id)["web"].ID
	left.agent.stop(t)
	left.await(t, apiclient.NodeStatusOffline)
	eventually(t, "the page says which node is offline", func() string {
		if a := p.visit(t, here+"/healthz"); a.status != http.StatusServiceUnavailable {
			return formatNumber(a.status)
		}
		return ""
	})
	p.answers(t, there)
	// promise: N-238
	if now := p.admin.deployment(t, on["left"].Id); now.NodeOfflineSince == nil ||
		now.Status != apiclient.DeploymentStatusReady ||
		now.Condition == nil || *now.Condition != apiclient.DeploymentConditionOffline ||
		textOf(now.Node) != left.name {
		t.Errorf("what is on an offline node is %s, %+v", now.Status, now)
	}
	if now := left.containers(t, on["left"].Id)["web"].ID; now != web {
		t.Errorf("its service is container %s, was %s before its node went offline", now, web)
	}
	// Deleting what cannot be reached waits for its node.
	p.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+on["left"].Id, nil, nil)
	waiting := p.admin.deployment(t, on["left"].Id)
	// promise: N-238
	if waiting.Status != apiclient.DeploymentStatusRemoving ||
		!strings.Contains(textOf(waiting.Detail), "waiting for node left") {
		t.Errorf("it is %s: %s", waiting.Status, textOf(waiting.Detail))
	}
	left.mustBeThere(t, on["left"].Id, "container", "network")
	left.decidesBy(t, `echo '{"claim": false, "reason": "closed today"}'`)
	left.start(t)
	p.admin.await(t, on["left"].Id, apiclient.DeploymentStatusRemoved) // promise: N-155
	left.nothingLeft(t, on["left"].Id)
	declineOnce(t, left, right)
	p.admin.remove(t, on["right"].Id)
	right.nothingLeft(t, on["right"].Id)
}

// readState returns what the node's running agent has on its disk.
func (n *node) readState(t *testing.T) (k agent.StateDump) {
	t.Helper()
	out, errs, code := runCommand(t, n.binary, nil, "", "agent", "state", "--agent.data="+n.data,
		"--json")
	if err := json.Unmarshal([]byte(out), &k); err != nil || code != 0 {
		t.Fatalf("agent state: exit code %d, %v: %s%s", code, err, out, errs)
	}
	return k
}

// toldVersions: one and two were made from two versions of a pipeline, and each agent got exactly
// the one of its deployment, number and content.
func toldVersions(t *testing.T, one, two apiclient.Deployment, nodes ...*node) {
	t.Helper()
	if one.PipelineVersion == two.PipelineVersion {
		t.Fatalf("both run version %d", one.PipelineVersion)
	}
	env := map[string]string{one.Id: "http://nobody:1", two.Id: "http://nobody:2"}
	versions := map[string]int{one.Id: one.PipelineVersion, two.Id: two.PipelineVersion}
	for _, n := range nodes {
		k := n.readState(t)
		if len(k.Deployments) != 1 || k.Deployments[0].Goal == nil {
			t.Fatalf("the agent of %s remembers %+v", n.name, k.Deployments)
		}
		told := k.Deployments[0].Goal
		web, _ := told.Pipeline.Step("web")
		// promise: N-090
		if told.Version != versions[told.Deployment] || web.Service == nil ||
			web.Service.Env["API_URL"] != env[told.Deployment] {
			t.Errorf("%s was told version %d of %s with %+v", n.name, told.Version,
				told.Deployment, web.Service)
		}
	}
}

// toldPlugins: a plugin that is added, changed and taken away while agents run is
// on each one's list, with its image, without a restart.
func toldPlugins(t *testing.T, p *product, nodes ...*node) {
	t.Helper()
	var check apiclient.Plugin
	p.admin.want(t, http.StatusOK, http.MethodGet, "/plugins/http-check", nil, &check)
	listed := func(n *node) string {
		k := n.readState(t)
		for _, i := range k.Plugins {
			if i.Name == "late" {
				return i.Image.Repository + "@" + i.Image.Digest
			}
		}
		return ""
	}
	agents := map[*node]*process{}
	for _, n := range nodes {
		agents[n] = n.agent
	}
	everywhere := func(what, want string) {
		for _, n := range nodes {
			eventually(t, n.name+" is told of "+what, func() string {
				// promise: N-068
				if got := listed(n); got != want {
					return "its list has " + got + ", not " + want
				}
				return ""
			})
		}
	}
	everywhere("nothing yet", "")
	body := object{"registry": check.Registry, "image": check.Image, "tag": check.Tag,
		"component": check.Component}
	p.admin.put(t, "/plugins/late", body, nil)
	everywhere("a new plugin", check.Image+"@"+check.Digest)
	var other apiclient.Plugin
	p.admin.want(t, http.StatusOK, http.MethodGet, "/plugins/wait-for", nil, &other)
	body["image"], body["tag"] = other.Image, other.Tag
	p.admin.put(t, "/plugins/late", body, nil)
	everywhere("its other image", other.Image+"@"+other.Digest)
	p.admin.want(t, http.StatusNoContent, http.MethodDelete, "/plugins/late", nil, nil)
	everywhere("its end", "")
	for _, n := range nodes {
		select {
		case <-n.agent.done:
			t.Errorf("the agent of %s ended", n.name)
		default:
		}
		if n.agent != agents[n] {
			t.Errorf("the agent of %s is another process", n.name)
		}
	}
}

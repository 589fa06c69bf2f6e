package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// node is a machine with an agent on it.
type node struct {
	p       *product
	name    string
	binary  string
	address string
	docker  string
	data    string
	run     string
	subnets string
	token   string
	command string
	agent   *process
	// more are settings, env variables beside the usual ones.
	more []string
	env  []string
	// cluster is what the node is an agent of, beside nodes with Docker.
	cluster *cluster
}

// enrol adds a node and starts its agent with the token that was shown.
func (p *product) enrol(t *testing.T, name, environment string) *node {
	t.Helper()
	n := p.addNode(t, name, environment)
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	return n
}

func (p *product) addNode(t *testing.T, name, environment string) *node {
	t.Helper()
	n := p.newNode(t, name)
	var made apiclient.NodeEnrolment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/nodes",
		object{"name": name, "environment": environment, "address": n.address}, &made)
	n.token, n.command = made.Token, made.Command
	p.allowBusyNodes(t, environment)
	return n
}

// allowBusyNodes places deployments on a machine that is busy: this one runs all the other tests.
func (p *product) allowBusyNodes(t *testing.T, environment string) {
	t.Helper()
	var now map[string]any
	p.admin.get(t, "/environments/"+environment, &now)
	body := object{"capacity": object{"busy_cpu_percent": 100}}
	for _, field := range []string{"domain", "description", "restricted", "cleanup_after_hours",
		"ignore_visits", "placement"} {
		if value, set := now[field]; set {
			body[field] = value
		}
	}
	p.admin.put(t, "/environments/"+environment, body, nil)
}

// newNode is a machine that is not added yet.
func (p *product) newNode(t *testing.T, name string) *node {
	t.Helper()
	n := &node{p: p, name: name, binary: p.w.binary, address: freeAddress(t),
		docker: p.w.docker, data: filepath.Join(shortDir(t), "data"), run: dockertest.RunDir(t)}
	// Sixteen ranges of 4096 addresses; agents/docker's own tests use 10.213 and 10.214.
	n.subnets = fmt.Sprintf("10.222.%d.0/20", 16*(p.w.ranges.Add(1)%16))
	if p.w.cluster != nil {
		p.w.cluster.equip(n)
	}
	p.nodes.Store(name, n) // scenarios that share the product add nodes at once
	return n
}

// node is one that was added.
func (p *product) node(name string) *node {
	n, _ := p.nodes.Load(name)
	return n.(*node)
}

// start starts the agent, again with the same token and folders.
func (n *node) start(t *testing.T) {
	t.Helper()
	// Rules in the machine's own tables would outlive the test, and engines that
	// tests start and stop take each other's rules away: both are off unless asked
	// for. A test machine whose disk is nearly full must not keep the agent from pulling
	// plugins ahead.
	n.agent = startProcess(t, n.binary, "agent-"+n.name, n.p.dir,
		append([]string{"AGENT_TOKEN=" + n.token}, n.env...),
		append([]string{"agent", "--agent.listen=" + n.address, "--agent.data=" + n.data,
			"--agent.run=" + n.run, "--agent.docker=" + n.docker,
			"--agent.subnets=" + n.subnets, "--agent.guard=false", "--agent.probe=0s",
			"--agent.floor=0",
			"--log.format=json"}, n.more...)...)
}

func (n *node) show(t *testing.T) (shown apiclient.Node) {
	t.Helper()
	n.p.admin.get(t, "/nodes/"+n.name, &shown)
	return shown
}

// await waits for a status and, when online, until the node reported its size.
func (n *node) await(t *testing.T, status apiclient.NodeStatus) (shown apiclient.Node) {
	t.Helper()
	return n.awaitWithin(t, patience, status)
}

func (n *node) awaitWithin(t *testing.T, limit time.Duration, status apiclient.NodeStatus,
) (shown apiclient.Node) {
	t.Helper()
	within(t, limit, fmt.Sprintf("node %s is %s", n.name, status), func() string {
		shown = n.show(t)
		if shown.Status != status {
			return fmt.Sprintf("it is %s: %v", shown.Status, textOf(shown.StatusDetail))
		}
		if status == apiclient.NodeStatusOnline && (shown.Inventory == nil || shown.Inventory.Cpu == 0) {
			return "it has not told its size"
		}
		return ""
	})
	return shown
}

// install is the label the agent puts on what it makes.
func (n *node) install(t *testing.T) string {
	t.Helper()
	id, err := os.ReadFile(filepath.Join(n.data, "install"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(id))
}

// scanForLeaks lists what is on the engine and in the tmpfs of this agent.
func (n *node) scanForLeaks(t *testing.T) dockertest.LeakScan {
	t.Helper()
	world, err := dockertest.ScanForLeaks(t.Context(), n.docker, n.install(t), n.run,
		filepath.Join(n.data, "relays"))
	if err != nil {
		t.Fatal(err)
	}
	return world
}

// leftOf lists what is there of one deployment.
func (n *node) leftOf(t *testing.T, id string) []string {
	t.Helper()
	if k := clusterOf(n); k != nil {
		return k.leftOf(t, n, id)
	}
	var left []string
	for _, thing := range n.scanForLeaks(t).AddedSince(dockertest.LeakScan{}) {
		if strings.Contains(thing, id) {
			left = append(left, thing)
		}
	}
	return left
}

// nothingLeft is the leak scan of one deployment. What it can find is shown by
// the deployment itself: callers look while it is there, see mustBeThere.
func (n *node) nothingLeft(t *testing.T, id string) {
	t.Helper()
	if left := n.leftOf(t, id); len(left) > 0 {
		t.Errorf("left of %s: %q", id, left)
	}
}

// mustBeThere is the positive control of nothingLeft. In a cluster, files of a deployment are in
// the memory of its pods.
func (n *node) mustBeThere(t *testing.T, id string, kinds ...string) {
	t.Helper()
	left := strings.Join(n.leftOf(t, id), "\n")
	for _, kind := range kinds {
		inPod := kind == "file" && n.p.w.cluster != nil
		if !inPod && !strings.Contains(left, kind+" ") {
			t.Errorf("the scan sees no %s of %s, only\n%s", kind, id, left)
		}
	}
}

// textOf reads an optional text.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func formatNumber(n int) string { return strconv.Itoa(n) }

func (who *person) runNumber(t *testing.T, id string, n int) (r apiclient.Run) {
	t.Helper()
	who.get(t, "/deployments/"+id+"/runs/"+formatNumber(n), &r)
	return r
}

package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The line for a cluster makes the Secret with the token first and installs the agent after it,
// with Helm or without, and leads the control plane to it in the way that the node's address says.
func TestNodes_LineForACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) { c.Fingerprint = "sha256:ab" })
	w.shop()
	for name, c := range map[string]struct {
		node         object
		helm, plain  string
		without, way string
	}{
		"dials": {node: object{"connect": "agent"},
			helm:  " --set connect=ws://nullops.test --set fingerprint=sha256:ab",
			plain: " --connect=ws://nullops.test --fingerprint=sha256:ab", without: "service"},
		"inside": {node: object{"address": "nullops-inside.nullops-inside.svc:5007"},
			helm: " --set service.port=5007", plain: " --port=5007", without: "service.type"},
		"port": {node: object{"address": "192.0.2.1:30500"},
			helm:  " --set service.type=NodePort --set service.nodePort=30500",
			plain: " --service=NodePort --node-port=30500", without: "connect"},
		"balanced": {node: object{"address": "qa.example.org:5000"},
			helm:  " --set service.type=LoadBalancer --set service.port=5000",
			plain: " --service=LoadBalancer --port=5000", without: "connect"},
		"proxied": {node: object{"address": "wss://proxy.example.org/qa"},
			helm: " --set websocket=true", plain: " --websocket=true", without: "service"},
	} {
		c.node["name"], c.node["environment"] = name, "qa"
		a := w.call("POST", "/api/v1/nodes", w.token("root"), c.node)
		var made api.NodeEnrolment
		if err := json.Unmarshal(a.body, &made); err != nil || a.status != http.StatusCreated ||
			made.Kubernetes == nil {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		secret := "kubectl create namespace nullops-" + name + " --dry-run=client -o yaml | " +
			"kubectl apply -f - && kubectl create secret generic nullops-agent-token --namespace " +
			"nullops-" + name + " --from-literal=AGENT_TOKEN=" + made.Token +
			" --dry-run=client -o yaml | kubectl apply -f - && "
		helm := secret + "helm upgrade --install nullops-" + name + " deploy/helm/nullops-agent " +
			"--namespace nullops-" + name + " --set image=nullops/agent:test" + c.helm
		plain := secret + "nullops agent manifest --name=nullops-" + name +
			" --image=nullops/agent:test" + c.plain + " | kubectl apply -f -"
		if made.Kubernetes.Helm != helm {
			t.Errorf("%s with Helm:\n got %s\nwant %s", name, made.Kubernetes.Helm, helm)
		}
		if made.Kubernetes.Kubectl != plain {
			t.Errorf("%s without Helm:\n got %s\nwant %s", name, made.Kubernetes.Kubectl, plain)
		}
		pinned := strings.Contains(made.Command, " -e AGENT_FINGERPRINT=sha256:ab ")
		if dials := name == "dials"; pinned != dials {
			t.Errorf("%s: on a machine: %s", name, made.Command)
		}
		if strings.Contains(made.Kubernetes.Helm, c.without) || !strings.HasPrefix(made.Command,
			"docker run ") {
			t.Errorf("%s: %s\n%s", name, made.Kubernetes.Helm, made.Command)
		}
	}
}

// A node that is a cluster says so, in the cluster's own terms, and its new token comes with the
// line for a cluster, which starts the agent again. Any other node runs on Docker, also one whose
// agent knows nothing of clusters.
func TestNodes_SayWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	if a := w.call("GET", "/api/v1/nodes/node-1", root, nil); !strings.Contains(string(a.body),
		`"runtime":"docker"`) || strings.Contains(string(a.body), `"cluster"`) {
		t.Errorf("a machine is %s", a.body)
	}
	inventory := controlplane.Inventory{Hostname: "10.96.0.1", CPU: 4, Memory: 1 << 34,
		Cluster: &controlplane.Cluster{Version: "v1.34.3", Network: "Calico", MachineCount: 2,
			Machines: []controlplane.Machine{{Name: "a", State: controlplane.MachineNotReady,
				Version: "v1.34.3", CPU: 4, Memory: 1 << 34, Detail: "gone"}},
			StorageClasses: []controlplane.StorageClass{{Name: "fast", Provisioner: "disk",
				Default: true}}},
		Checks: []controlplane.Check{{ID: "rights", Severity: controlplane.SeverityCritical,
			Detail: "the agent's account lacks 1 of its rights: create pods/exec"}}}
	if err := w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		return tx.Nodes().SetInventory(t.Context(), w.node, "test", inventory)
	}); err != nil {
		t.Fatal(err)
	}
	var node api.Node
	w.got("/api/v1/nodes/node-1", root, &node)
	got := must(json.Marshal(node.Inventory.Cluster))(t)
	if want := `{"machine_count":2,"machines":[{"cpu":4,"detail":"gone","memory":17179869184,` +
		`"name":"a","state":"not_ready","version":"v1.34.3"}],"network":"Calico",` +
		`"storage_classes":[{"default":true,"name":"fast","provisioner":"disk"}],` +
		`"version":"v1.34.3"}`; string(got) != want ||
		*node.Inventory.Runtime != api.NodeRuntimeKubernetes {
		t.Errorf("the cluster is %s, and runs on %s", got, *node.Inventory.Runtime)
	}
	if node.Blocked == nil || !strings.Contains(*node.Blocked, "create pods/exec") {
		t.Errorf("without its rights it takes deployments: %v", node.Blocked)
	}
	rotated := w.call("POST", "/api/v1/nodes/node-1/token", root, nil)
	command := rotated.field("command")
	if rotated.status != http.StatusCreated || !strings.Contains(command,
		" && helm upgrade --install nullops-node-1 ") || !strings.HasSuffix(command,
		" && kubectl rollout restart deployment/nullops-node-1 --namespace nullops-node-1") {
		t.Errorf("another token: %d %s", rotated.status, rotated.body)
	}
}

//go:build kubernetes

package main_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent/kubernetes/clustertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/plugins/packaging"
)

// installation is a product of which everything but the database is in the cluster.
type installation struct {
	*product
	k *cluster
	// agentImage and ownImage are those of deploy/Dockerfile.
	agentImage, ownImage string
	// charts is the folder of both charts: the sources', or a release's.
	charts string
}

// TestKubernetesInstallation installs control plane and ingress with their chart and an agent with
// the line that 'nullops node add' prints, deploys the example, and then loses, changes and removes
// the parts. Nothing is left in the cluster.
func TestKubernetesInstallation(t *testing.T) {
	testpart.Rotate(t)
	w := newClusterWorld(t)
	w.cluster.leavesNothing(t)
	clustertest.EnforcePolicies(t)
	i := &installation{product: &product{w: w, dir: shortDir(t), nodes: &sync.Map{}}, k: w.cluster,
		charts: sourceCharts}
	i.publishImages(t)
	i.install(t)
	i.openFirstPage(t)
	n := i.addCluster(t, "qa-cluster", "--address=nullops-qa-cluster.nullops-qa-cluster.svc:5000")
	i.applyShop(t)
	d := i.admin.deployReady(t, "shop", "first", nil)
	i.openShop(t, d)
	i.askDoctor(t)
	i.loseAgent(t, n, d)
	i.upgradeAgent(t, n, d)
	i.admin.remove(t, d.Id)
	within(t, waitTime, "nothing of it is in the cluster", func() string {
		return strings.Join(n.leftOf(t, d.Id), " ")
	})
	i.uninstall(t)
}

// sourceCharts is where the lines that people are shown find the charts.
const sourceCharts = "deploy/helm"

func (i *installation) uninstall(t *testing.T) {
	t.Helper()
	for _, name := range []string{"nullops-qa-cluster", "nullops"} {
		i.k.runLine(t, i.w, "helm uninstall "+name+" --namespace "+name+" --wait")
	}
	i.k.kubectl(t, "delete", "namespace", "nullops", "nullops-qa-cluster")
}

// TestKubernetesManifest installs an agent without Helm, with the other line that is printed, for a
// control plane outside the cluster. Its node says that the cluster enforces no policies, until it
// does.
func TestKubernetesManifest(t *testing.T) {
	testpart.Rotate(t)
	w := newClusterWorld(t)
	w.cluster.leavesNothing(t)
	i := &installation{product: startProduct(t, w), k: w.cluster}
	i.publishImages(t)
	i.applyShop(t)
	n := i.addCluster(t, "outside", "--address=10.78.0.2:30500")
	// promise: K-04
	n.awaitCheck(t, "isolation", apiclient.CheckSeverityCritical)
	clustertest.EnforcePolicies(t)
	i.k.kubectl(t, "rollout", "restart", "deployment/nullops-outside",
		"--namespace=nullops-outside")
	n.awaitCheck(t, "isolation", apiclient.CheckSeverityOk)
	i.define(t, "small", webStep("web"))
	d := i.admin.deployReady(t, "small", "small", nil)
	i.answers(t, serviceURL(t, d, "web"))
	i.admin.remove(t, d.Id)
	n.nothingLeft(t, d.Id)
	i.k.runLine(t, w, "nullops agent manifest --name=nullops-outside --image="+i.agentImage+
		" | kubectl delete -f -")
	i.k.kubectl(t, "delete", "namespace", "nullops-outside")
}

// publishImages makes the images of deploy/Dockerfile from this build.
func (i *installation) publishImages(t *testing.T) {
	t.Helper()
	files := []packaging.File{
		{Path: "app/nullops", From: i.w.binary, Mode: 0o755},
		{Path: "tmp", Dir: true, Mode: 0o1777}, {Path: "state", Dir: true, UID: 65532, GID: 65532}}
	agent := append(files, packaging.File{Path: "app/sidecar", From: i.k.sidecar, Mode: 0o755})
	i.agentImage = i.k.publish(t, "nullops/agent", "e2e",
		v1.Config{Entrypoint: []string{"/app/nullops", "agent"}}, agent...)
	i.ownImage = i.k.publish(t, "nullops/controlplane", "e2e", v1.Config{User: "65532:65532",
		Entrypoint: []string{"/app/nullops"}, Cmd: []string{"controlplane"}}, files...)
}

// install follows docs/kubernetes.md: secrets, and the chart.
func (i *installation) install(t *testing.T) {
	t.Helper()
	database := i.reachDatabase(t)
	secrets := filepath.Join(i.dir, "secrets")
	if err := os.Mkdir(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"master_keys", "ingress_keys"} {
		key, errs, code := runCommand(t, i.w.binary, nil, "", "keys", "new")
		if code != 0 {
			t.Fatalf("keys new: %s", errs)
		}
		write(name, strings.TrimSpace(key))
	}
	write("pgpass", "*:*:*:postgres:"+rand.Text())
	for _, role := range []string{"controlplane", "ingress"} {
		write(role+"_pgpass", "*:*:*:kubernetes_"+role+":"+rand.Text())
	}
	i.http, i.ingressAddr = freeAddress(t), ""
	i.url = "http://localhost:" + portOf(i.http)
	i.ingressURL = "http://localhost"
	i.trustRegistry(t, "nullops")
	i.k.runLine(t, i.w, "kubectl --namespace nullops create secret generic nullops "+
		"--from-file="+secrets+" && "+
		"helm upgrade --install nullops "+i.charts+"/nullops --namespace nullops --wait "+
		"--set authorities=registries --set agentImage="+i.agentImage+" "+
		"--set image="+i.ownImage+" --set database.owner=postgres "+
		"--set database.controlPlaneRole=kubernetes_controlplane "+
		"--set database.ingressRole=kubernetes_ingress --set ingress.service.type=ClusterIP "+
		"--set 'database.url="+database+"' --set controlPlane.url="+i.url+
		" --set ingress.url="+i.ingressURL)
	// A browser of this machine reaches the UI as through 'kubectl port-forward'.
	passOn(t, i.http, i.k.addressOf(t, "nullops", "nullops-controlplane")+":80")
	i.ingressAddr = i.k.addressOf(t, "nullops", "nullops-ingress") + ":80"
}

// trustRegistry makes the ConfigMap from which what runs in a namespace trusts the registry of the
// cluster, whose certificate no public authority has signed.
func (i *installation) trustRegistry(t *testing.T, namespace string) {
	t.Helper()
	i.k.runLine(t, i.w, "kubectl create namespace "+namespace+" && kubectl --namespace "+namespace+
		" create configmap registries --from-file=registry.crt="+i.k.authority)
}

// reachDatabase lets pods reach the server of the tests, which listens on loopback only.
func (i *installation) reachDatabase(t *testing.T) (withoutUser string) {
	t.Helper()
	i.database = pgtest.NewEmptyDatabase(t)
	u, err := url.Parse(i.database)
	if err != nil {
		t.Fatal(err)
	}
	l := passOn(t, i.k.from+":0", u.Host)
	u.Host, u.User = l, nil
	return u.String()
}

// passOn passes connections to an address of this machine on to another one.
func passOn(t *testing.T, from, to string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go copyBoth(conn, "tcp", to)
		}
	}()
	return l.Addr().String()
}

func (k *cluster) addressOf(t *testing.T, namespace, service string) string {
	t.Helper()
	return strings.TrimSpace(k.kubectl(t, "get", "service", service, "--namespace="+namespace,
		"--output=jsonpath={.spec.clusterIP}"))
}

// openFirstPage opens the UI, and signs in with the password that the control plane prints once.
func (i *installation) openFirstPage(t *testing.T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, i.url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := sendRequest(t, &http.Client{Timeout: patience}, r)
	if a.status != http.StatusOK || !strings.Contains(a.body, "<title>") {
		t.Errorf("the first page: %s", a)
	}
	said := i.k.kubectl(t, "logs", "deployment/nullops-controlplane", "--namespace=nullops",
		"--container=controlplane")
	found := regexp.MustCompile(`user admin, password (\S+)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("the control plane prints no password:\n%s", said)
	}
	i.password = found[1]
	i.admin = i.signIn(t, "admin", i.password)
}

// addCluster adds the cluster as a node, and runs the line that is printed.
func (i *installation) addCluster(t *testing.T, name, way string) *node {
	t.Helper()
	i.admin.put(t, "/environments/qa", object{"domain": "localhost"}, nil)
	out, errs, code := i.admin.cli(t, "node", "add", name, "--env=qa", "--kubernetes", way, "--json")
	var made apiclient.NodeEnrolment
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 ||
		made.Kubernetes == nil {
		t.Fatalf("node add: %v, %d: %s%s", err, code, out, errs)
	}
	line := strings.Replace(made.Kubernetes.Helm, sourceCharts, i.charts, 1) +
		" --set authorities=registries"
	if name != "qa-cluster" {
		// Without the setting http.agentimage, the name is that of deploy/Dockerfile.
		line = strings.Replace(made.Kubernetes.Kubectl, " --image=nullops/agent:e2e",
			" --authorities=registries --image="+i.agentImage, 1)
	}
	i.trustRegistry(t, "nullops-"+name)
	i.k.provideFolder(t, "nullops-"+name)
	i.k.runLine(t, i.w, line)
	i.allowBusyNodes(t, "qa")
	n := &node{p: i.product, name: name}
	i.nodes.Store(name, n)
	// promise: K-07
	shown := n.await(t, apiclient.NodeStatusOnline)
	n.awaitCheck(t, "rights", apiclient.CheckSeverityOk)
	n.mustPrintThumbprint(t, textOf(shown.Thumbprint))
	i.k.kubectl(t, "delete", "secret", "nullops-agent-token", "--namespace=nullops-"+name)
	return n
}

// provideFolder makes a volume for the claim of an agent. Those that the cluster makes by itself
// are folders of root: unlike storage of real clusters, they know nothing of a pod's fsGroup.
func (k *cluster) provideFolder(t *testing.T, name string) {
	t.Helper()
	folder := filepath.Join(k.folder, "volumes", name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folder, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	k.apply(t, `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"`+name+`"},
		"spec":{"capacity":{"storage":"2Gi"},"accessModes":["ReadWriteOnce"],
		"storageClassName":"folders","persistentVolumeReclaimPolicy":"Delete",
		"claimRef":{"namespace":"`+name+`","name":"`+name+`"},
		"hostPath":{"path":"/tmp/hostpath_pv/`+name+`"}}}`)
}

func (n *node) awaitCheck(t *testing.T, id string, severity apiclient.CheckSeverity) {
	t.Helper()
	eventually(t, "the check "+id+" is "+string(severity), func() string {
		shown := n.show(t)
		if shown.Inventory == nil || shown.Inventory.Checks == nil {
			return "the node has no checks"
		}
		for _, c := range *shown.Inventory.Checks {
			if c.Id == id && c.Severity == severity {
				return ""
			}
		}
		return fmt.Sprintf("the checks are %+v", *shown.Inventory.Checks)
	})
}

// mustPrintThumbprint compares what the agent prints with what the control plane shows, as the
// documentation tells people to.
func (n *node) mustPrintThumbprint(t *testing.T, thumbprint string) {
	t.Helper()
	said := n.p.w.cluster.kubectl(t, "logs", "deployment/nullops-"+n.name,
		"--namespace=nullops-"+n.name)
	if thumbprint == "" ||
		!strings.Contains(plainThumbprint(said), plainThumbprint(thumbprint)) {
		t.Errorf("the agent does not print the thumbprint %s:\n%s", thumbprint, said)
	}
}

// askDoctor has the agent's image examine the cluster in the pod of the agent, as documented.
func (i *installation) askDoctor(t *testing.T) {
	t.Helper()
	said := i.k.runLine(t, i.w, "kubectl --namespace nullops-qa-cluster exec "+
		"deployment/nullops-qa-cluster -- /app/nullops agent doctor")
	for _, part := range []string{"Kubernetes 1.34.", "machines: 1", "StorageClass folders (default)",
		"every right", "The cluster enforces network policies"} {
		if !strings.Contains(said, part) {
			t.Errorf("the doctor does not say %q:\n%s", part, said)
		}
	}
}

// openShop asks the example through the ingress in the cluster.
func (i *installation) openShop(t *testing.T, d apiclient.Deployment) {
	t.Helper()
	web := serviceURL(t, d, "web")
	within(t, waitTime, "the page shows rows of the database", func() string {
		a := i.visit(t, web+"/")
		if a.status != http.StatusOK || !strings.Contains(a.body, "Green tea") {
			return a.String()
		}
		return ""
	})
}

// loseAgent kills the agent's pod in the middle of a run, as the loss of its machine would: the
// cluster makes another one, which finishes the run; what is ready answers.
func (i *installation) loseAgent(t *testing.T, n *node, d apiclient.Deployment) {
	t.Helper()
	book := newLedger(t)
	i.defineHostile(t)
	i.define(t, "dies", book.ledgerStep("first", "ledger", nil, nil),
		book.ledgerStep("slow", "ledger-sleep", []string{"first"}, object{"seconds": 300}))
	dies := i.admin.deploy(t, "dies", "dies", nil)
	book.await(t, "dies", "create slow")
	i.k.kubectl(t, "delete", "pod", "--all", "--namespace=nullops-"+n.name, "--force",
		"--grace-period=0")
	gone := i.admin.await(t, dies.Id, apiclient.DeploymentStatusFailed)
	want := []string{"create first", "create slow", "delete slow", "delete first"}
	if got := book.of("dies"); !slices.Equal(got, want) || gone.Failure == nil ||
		textOf(gone.Failure.Step) != "slow" {
		t.Errorf("the run of a lost agent: ledger %v, failure %+v", got, gone.Failure)
	}
	i.openShop(t, d)
	i.admin.remove(t, dies.Id)
}

// upgradeAgent runs the line again with another setting: the agent starts anew and knows its
// deployment, of which nothing is started again.
func (i *installation) upgradeAgent(t *testing.T, n *node, d apiclient.Deployment) {
	t.Helper()
	space := "nullops-" + n.name
	pod, agent := n.pod(t, d.Id, "web"), i.k.findObjects(t, "pods", "--namespace="+space)[0]
	i.k.runLine(t, i.w, "helm upgrade "+space+" "+i.charts+"/nullops-agent --namespace "+space+
		" --reuse-values --set settings.NULLOPS_AGENT_GRACE=3s --wait")
	eventually(t, "another agent is online", func() string {
		for _, o := range i.k.findObjects(t, "pods", "--namespace="+space) {
			if o.Metadata.UID == agent.Metadata.UID {
				return "the old one is there"
			}
		}
		return ""
	})
	n.await(t, apiclient.NodeStatusOnline)
	i.openShop(t, d)
	if now := n.pod(t, d.Id, "web"); now.Metadata.UID != pod.Metadata.UID {
		t.Error("the upgrade of the agent started a service anew")
	}
	if now := i.admin.deployment(t, d.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("after the upgrade of the agent it is %s", now.Status)
	}
}

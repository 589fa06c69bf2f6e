//go:build kubernetes

package main_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// clusterTale is the story of TestEndToEnd/Story on a cluster, with chapters of its own.
type clusterTale struct {
	*tale
	k *cluster
}

// clusterStory tells the main job on a cluster: the example is deployed from the same documents,
// and answers under the same URLs.
func clusterStory(t *testing.T, w *world) {
	s := clusterTale{&tale{p: startProduct(t, w)}, w.cluster}
	s.tell(t, s.define, s.enrol, s.deploy, s.checkEvents, s.open, s.checkPods, s.streams, s.logs,
		s.getInside, s.forwardPort, s.restart, s.keepsSecrets, s.remove)
}

// enrol adds the cluster as a node: it says what it is, and what it does not do.
func (s clusterTale) enrol(t *testing.T) {
	s.n = s.p.enrol(t, "one", "qa")
	// promise: N-331
	shown := s.n.show(t)
	c := shown.Inventory.Cluster
	if c == nil || !strings.HasPrefix(c.Version, "v1.34.") || len(c.Machines) != 1 ||
		c.Machines[0].Name != "node1" || !slices.ContainsFunc(c.StorageClasses,
		func(class apiclient.StorageClass) bool { return class.Name == "folders" }) {
		t.Errorf("the node says that it is %+v", c)
	}
	out, errs, code := s.p.admin.cli(t, "node", "show", "one")
	for _, part := range []string{"Kubernetes 1.34.", "machine node1", "folders"} {
		if code != 0 || !strings.Contains(out, part) {
			t.Errorf("node show: %d, without %q: %s%s", code, part, out, errs)
		}
	}
}

// checkPods holds the URL to that of a node with Docker, and the objects to what the documentation
// says of them.
func (s clusterTale) checkPods(t *testing.T) {
	// promise: K-01
	for _, service := range []string{"web", "api"} {
		want := "http://" + service + ".first.qa.localhost:" + portOf(s.p.ingressAddr)
		if got := serviceURL(t, s.d, service); got != want {
			t.Errorf("%s is at %s, and on Docker at %s", service, got, want)
		}
	}
	for _, service := range s.d.Services {
		if service.Health != apiclient.HealthHealthy {
			t.Errorf("service %s is %s: %s", service.Step, service.Health, textOf(service.Detail))
		}
	}
	namespace := "--namespace=" + s.n.namespaceOf(t, s.d.Id)
	var names []string
	for _, o := range s.k.findObjects(t, "deployments,statefulsets,services,"+
		"persistentvolumeclaims,networkpolicies,secrets,roles,rolebindings", namespace) {
		names = append(names, o.Kind+" "+o.Metadata.Name)
	}
	slices.Sort(names)
	want := []string{"Deployment api", "Deployment mail", "Deployment web",
		"NetworkPolicy nullops-admit", "NetworkPolicy nullops-deny", "NetworkPolicy nullops-mail",
		"Service api", "Service mail", "Service postgres", "Service web", "StatefulSet postgres"}
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "PersistentVolumeClaim ")
	})
	if !slices.Equal(names, want) {
		t.Errorf("its namespace has %q, wanted %q", names, want)
	}
	within(t, waitTime, "the pods of plugins are gone", func() string {
		for _, o := range s.k.findObjects(t, "pods", namespace) {
			if strings.HasPrefix(o.Metadata.Name, "plugin-") {
				return o.Metadata.Name
			}
		}
		return ""
	})
}

// getInside starts programs in services, and copies a file in and out.
func (s clusterTale) getInside(t *testing.T) {
	out, errs, code := s.p.admin.cli(t, "exec", "first", "postgres", "--",
		"/usr/lib/postgresql/15/bin/postgres", "--version")
	if code != 0 || !strings.HasPrefix(out, "postgres (PostgreSQL) 15") {
		t.Errorf("exec: exit code %d: %s%s", code, out, errs)
	}
	if out, errs, code = s.p.admin.cli(t, "exec", "first", "web", "--", "no-such-program"); code !=
		127 || !strings.Contains(errs, "no-such-program") {
		t.Errorf("exec of nothing: exit code %d: %s%s", code, out, errs)
	}
	here := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(here, []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code = s.p.admin.cli(t, "cp", here, "first/web:/dev/shm/"); code != 0 {
		t.Errorf("cp: exit code %d: %s", code, errs)
	}
	if out, errs, code = s.p.admin.cli(t, "cp", "first/web:/dev/shm/note.txt", "-"); out !=
		"a note" {
		t.Errorf("the file came back as %q: exit code %d: %s", out, code, errs)
	}
}

// forwardPort asks the database through a port of this machine.
func (s clusterTale) forwardPort(t *testing.T) {
	at := freeAddress(t)
	forward := startProcess(t, s.p.w.binary, "port-forward", s.p.dir,
		[]string{"NULLOPS_CLI_URL=" + s.p.url, "NULLOPS_CLI_TOKEN=" + s.p.admin.token,
			"XDG_CONFIG_HOME=" + filepath.Join(s.p.dir, "none")},
		"port-forward", "first/postgres:5432", "--listen", at)
	database := url.URL{Scheme: "postgres", Host: at, Path: "/shop", RawQuery: "sslmode=disable",
		User: url.UserPassword("postgres", s.secrets[1])}
	count := 0
	eventually(t, "the database answers", func() string {
		conn, err := pgx.Connect(t.Context(), database.String())
		if err != nil {
			return err.Error()
		}
		defer func() { _ = conn.Close(t.Context()) }()
		err = conn.QueryRow(t.Context(), "SELECT count(*) FROM products").Scan(&count)
		if err != nil {
			return err.Error()
		}
		return ""
	})
	if count != 6 {
		t.Errorf("the shop has %d products", count)
	}
	_ = forward.cmd.Process.Signal(syscall.SIGINT)
	<-forward.done
}

// restart kills the process of a service, and then its pod: the cluster starts it again both times,
// the second time in a new pod, which gets its secrets.
func (s clusterTale) restart(t *testing.T) {
	web := serviceURL(t, s.d, "web")
	pod := s.n.pod(t, s.d.Id, "web")
	if err := syscall.Kill(s.processOf(t, pod, "web"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	within(t, waitTime, "it was started again", func() string {
		for _, service := range s.p.admin.deployment(t, s.d.Id).Services {
			if service.Step == "web" && service.Restarts == 0 {
				return "it has no restarts"
			}
		}
		return ""
	})
	s.p.answersWithin(t, waitTime, web)
	if same := s.n.pod(t, s.d.Id, "web"); same.Metadata.UID != pod.Metadata.UID {
		t.Errorf("after its process was killed it has the pod %s, and had %s", same.Metadata.Name,
			pod.Metadata.Name)
	}
	s.k.kubectl(t, "delete", "pod", pod.Metadata.Name, "--namespace="+pod.Metadata.Namespace)
	s.p.answersWithin(t, waitTime, web)
	if a := s.p.visit(t, web+"/"); a.status != http.StatusOK ||
		!strings.Contains(a.body, "Green tea") {
		t.Errorf("in its new pod it answers %s", a)
	}
	if now := s.p.admin.deployment(t, s.d.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("with a new pod it is %s", now.Status)
	}
}

// processOf finds the process of a program in a pod, which this machine sees like its own.
func (s clusterTale) processOf(t *testing.T, pod clusterObject, program string) (pid int) {
	t.Helper()
	eventually(t, program+" runs", func() string {
		groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range groups {
			group, _ := os.ReadFile(file)
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			first, _, _ := strings.Cut(string(command), "\x00")
			if strings.Contains(string(group), pod.Metadata.UID) &&
				filepath.Base(first) == program {
				pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
				if err == nil {
					return ""
				}
			}
		}
		return "no process of its pod does"
	})
	return pid
}

// keepsSecrets looks for every secret on the disk of the cluster's machine, where etcd is too, and
// in the product, after making sure that the service has it and that the search finds what is
// there.
func (s clusterTale) keepsSecrets(t *testing.T) {
	api := readEnviron(t, s.processOf(t, s.n.pod(t, s.d.Id, "api"), "api"))
	if api["API_TOKEN"] != s.secrets[0] {
		t.Errorf("the service did not get its secret, but %q", api["API_TOKEN"])
	}
	database, err := url.Parse(api["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	password, ok := database.User.Password()
	if !ok || len(password) < 12 {
		t.Fatalf("the connection string has no password to look for")
	}
	control := strings.Join(s.p.sightings(t, s.n, "first in qa"), "\n")
	if !strings.Contains(control, filepath.Join(s.k.folder, "etcd")) {
		t.Errorf("positive control: a plain variable is not found in etcd, only in\n%s", control)
	}
	for i, secret := range append(slices.Clone(s.secrets), password, s.n.token, s.p.key) {
		// promise: K-03
		for _, hit := range s.p.sightings(t, s.n, secret) {
			t.Errorf("secret %d is in %s", i, hit)
		}
	}
}

// remove takes everything away, and looks for leftovers.
func (s clusterTale) remove(t *testing.T) {
	s.n.mustBeThere(t, s.d.Id, "container", "network", "volume")
	web := serviceURL(t, s.d, "web")
	if d := s.p.admin.remove(t, s.d.Id); d.Status != apiclient.DeploymentStatusRemoved {
		t.Errorf("it is %s", d.Status)
	}
	// promise: K-05
	within(t, waitTime, "nothing of it is in the cluster", func() string {
		return strings.Join(s.n.leftOf(t, s.d.Id), " ")
	})
	s.checkGone(t, web)
}

// agentOfClusterDies kills the agent when a deployment is ready and in the middle of another one's
// plugin, changes the cluster while it is away, and destroys its journal.
func agentOfClusterDies(t *testing.T, w *world) {
	p, book := startProduct(t, w), newLedger(t)
	p.applyShop(t)
	p.defineHostile(t)
	n := p.enrol(t, "mortal", "qa")
	p.define(t, "stays", webStep("web"))
	p.define(t, "dies", book.ledgerStep("first", "ledger", nil, nil),
		book.ledgerStep("slow", "ledger-sleep", []string{"first"}, object{"seconds": 120}),
		book.ledgerStep("never", "ledger", []string{"slow"}, nil))
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	url := serviceURL(t, stays, "web")
	p.answers(t, url)
	pod := n.pod(t, stays.Id, "web")
	dies := p.admin.deploy(t, "dies", "dies", nil)
	book.await(t, "dies", "create slow")
	n.mustBeThere(t, dies.Id, "container", "network")
	n.agent.kill()
	n.awaitWithin(t, waitTime, apiclient.NodeStatusOffline)
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
	p.answersWithin(t, waitTime, url)
	if now := n.pod(t, stays.Id, "web"); now.Metadata.UID != pod.Metadata.UID {
		t.Errorf("the service was started anew: its pod is %s, was %s", now.Metadata.Name,
			pod.Metadata.Name)
	}
	goneBeforeItBegan(t, p, n)
	n.driftInCluster(t, stays, url)
	n.agent.kill()
	n.corruptJournal(t)
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.answers(t, url)
	p.admin.remove(t, stays.Id)
	n.nothingLeft(t, stays.Id)
}

// driftInCluster removes a service's workload while the agent is away, and plants a namespace that
// no deployment owns.
func (n *node) driftInCluster(t *testing.T, stays apiclient.Deployment, url string) {
	t.Helper()
	k := n.p.w.cluster
	n.agent.kill()
	k.kubectl(t, "delete", "deployment", "web", "--namespace="+n.namespaceOf(t, stays.Id))
	const orphan = "01a1fc00-0000-7000-8000-000000000000"
	k.kubectl(t, "create", "namespace", n.namespaceOf(t, orphan))
	k.kubectl(t, "label", "namespace", n.namespaceOf(t, orphan), "nullops.install="+n.install(t),
		"nullops.deployment="+orphan, "nullops.kind=network")
	n.mustBeThere(t, orphan, "network")
	n.start(t)
	n.p.answers(t, url)
	eventually(t, "what no deployment owns is removed", func() string {
		return strings.Join(n.leftOf(t, orphan), " ")
	})
	if now := n.p.admin.deployment(t, stays.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("after the repair it is %s", now.Status)
	}
}

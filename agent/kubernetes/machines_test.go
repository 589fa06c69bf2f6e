//go:build kubernetes

package kubernetes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// folderVariable is the folder of the cluster, for a second machine.
const folderVariable = "NULLOPS_TEST_KUBERNETES_FOLDER"

// addMachine has a second machine join, and returns what kills it.
func addMachine(t *testing.T, a admin) (kill func()) {
	t.Helper()
	var log strings.Builder
	machine := exec.Command("../../tools/kubernetes/machine.sh", os.Getenv(folderVariable))
	machine.Stdout, machine.Stderr = &log, &log
	if err := machine.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = machine.Process.Kill()
		_ = machine.Wait()
	}
	t.Cleanup(func() {
		kill()
		// Its pods are known to be gone only now.
		_, _ = a.request(http.MethodDelete, "/api/v1/nodes/node2", "")
		if t.Failed() {
			t.Log(log.String())
		}
	})
	a.await("node2 is ready", func() bool {
		_, text := a.request(http.MethodGet, "/api/v1/nodes/node2", "")
		return strings.Contains(text, `"type":"Ready","status":"True"`) ||
			strings.Contains(text, `"reason":"KubeletReady"`)
	})
	return kill
}

func (a admin) await(what string, is func() bool) {
	a.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); {
		if time.Now().After(deadline) {
			a.t.Fatalf("in vain waited for: %s", what)
		}
		_ = wait.Sleep(context.WithoutCancel(a.t.Context()), 200*time.Millisecond)
	}
}

// cordon lets a machine take pods, or not.
func (a admin) cordon(machine string, is bool) {
	a.t.Helper()
	a.mustDo(http.MethodPatch, "/api/v1/nodes/"+machine,
		fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, is))
}

// machineOf says where the pods of a step are that are not being removed.
func (a admin) machineOf(namespace string, step pipeline.StepKey) string {
	a.t.Helper()
	var pods struct {
		Items []struct {
			Metadata struct {
				Name    string  `json:"name"`
				Deleted *string `json:"deletionTimestamp"`
			} `json:"metadata"`
			Spec struct {
				Machine string `json:"nodeName"`
			} `json:"spec"`
		} `json:"items"`
	}
	text := a.mustDo(http.MethodGet, "/api/v1/namespaces/"+namespace+
		"/pods?labelSelector=nullops.step="+string(step), "")
	if err := json.Unmarshal([]byte(text), &pods); err != nil {
		a.t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Metadata.Deleted == nil {
			return p.Spec.Machine + " " + p.Metadata.Name
		}
	}
	return ""
}

// drain does what kubectl drain does: the machine takes no new pods, and its pods are evicted.
func (a admin) drain(machine, namespace string, steps ...pipeline.StepKey) {
	a.t.Helper()
	a.cordon(machine, true)
	for _, step := range steps {
		_, pod, _ := strings.Cut(a.machineOf(namespace, step), " ")
		a.mustDo(http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods/"+pod+"/eviction",
			fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}}`, pod))
	}
}

// Services outlive the machine that they are on: drained, it gives them to another one, with their
// secrets, the data of their volumes, and the credentials for a private image that this one has not
// got yet; killed, it loses them to another one after a while. Nobody has to say that it is gone,
// but for a service with volumes, to which its pod there may still write. It runs alone, since the
// pods of other tests would be on those machines.
func TestKubernetes_ServicesOutliveTheirMachine(t *testing.T) {
	testpart.Rotate(t)
	a := newAdmin(t)
	class := a.makeClass()
	r := newRigWith(t, func(c *kubernetes.Config) {
		c.StorageClass, c.VolumeSize, c.LostAfter = class, "1Gi", 5*time.Second
	})
	_ = r.WatchChanges(t.Context()) // pods are gone soon after the reason for it is known
	kill := addMachine(t, a)
	deployment := r.newDeployment()
	namespace := r.namespaceOf(deployment)
	// Everything begins on the second machine.
	a.cordon("node1", true)
	t.Cleanup(func() { a.cordon("node1", false) })
	web, db := r.echoService(deployment, "web"), r.echoService(deployment, "db")
	auth := &wire.RegistryAuth{Username: "puller", Password: "hunter3"}
	web.Image = r.makePrivate("nullops-test/moves", auth)
	if err := r.Pull(t.Context(), web.Image, auth, nil); err != nil {
		t.Fatal(err)
	}
	web.SecretEnv = map[string]string{"PASSWORD": "hunter2"}
	web.Ready = &pipeline.Readiness{Command: []string{"/actor", "printenv", "PASSWORD"}}
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	r.start(web)
	r.start(db)
	data := agent.VolumeName{Deployment: deployment, Service: "db", Name: "data"}
	before := r.readVolume(data)
	a.cordon("node1", false)
	a.drain("node2", namespace, "web", "db")
	for _, s := range []agent.ServiceSpec{web, db} {
		a.await("its new pod", func() bool {
			return strings.HasPrefix(a.machineOf(namespace, s.Step), "node1 ")
		})
		r.awaitMoved(s, "; before, its machine was drained: ")
	}
	r.checkEcho(deployment, "db")
	a.awaitNoSecret(namespace)
	if after := r.readVolume(data); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("on the other machine, the volume has %q and not %q", after, before)
	}
	// Back to the second machine, which is then lost.
	a.cordon("node2", false)
	a.drain("node1", namespace, "web", "db")
	for _, s := range []agent.ServiceSpec{web, db} {
		a.await("its pod on node2", func() bool {
			return strings.HasPrefix(a.machineOf(namespace, s.Step), "node2 ")
		})
		r.awaitReady(s)
	}
	other := r.startOnLostMachine()
	a.cordon("node1", false)
	kill()
	killed := time.Now()
	a.await("its pod on node1 again", func() bool {
		return strings.HasPrefix(a.machineOf(namespace, "web"), "node1 ")
	})
	r.awaitMoved(web, "; before, its machine is lost")
	r.awaitProbe(db, "waits for its machine", func(p agent.ProbeResult) bool {
		return strings.Contains(p.Detail, "its machine node2 is lost") &&
			strings.Contains(p.Detail, "nullops node give-up")
	})
	other.mustEnd(killed)
	// A person says that the machine is gone: what wrote to a volume may be elsewhere.
	if n, err := r.GiveUpMachine(t.Context(), "node2"); n != 1 || err != nil {
		t.Errorf("given up, the machine releases %d services: %v", n, err)
	}
	a.await("its pod on node1", func() bool {
		return strings.HasPrefix(a.machineOf(namespace, "db"), "node1 ")
	})
	r.awaitReady(db)
	if after := r.readVolume(data); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("after the loss of its machine, the volume has %q and not %q", after, before)
	}
}

// lostWork is a plugin, a job and a service with a volume on a machine that is lost.
type lostWork struct {
	*rig
	deployment string
	job        agent.ServiceSpec
	// ran is the end of the plugin.
	ran chan error
}

func (r *rig) startOnLostMachine() *lostWork {
	r.t.Helper()
	l := &lostWork{rig: r, deployment: r.newDeployment(), ran: make(chan error, 1)}
	db := r.echoService(l.deployment, "db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	r.start(db)
	l.job = jobOf(r.echoService(l.deployment, "job"))
	if err := r.StartService(r.t.Context(), l.job); err != nil {
		r.t.Fatal(err)
	}
	r.awaitProbe(l.job, "runs", func(p agent.ProbeResult) bool {
		return p.Health == wire.HealthHealthy
	})
	plugin := agent.PluginSpec{Deployment: l.deployment, Run: "run", Step: "hang", Action: "create",
		Image: r.publish("nullops-test/hang", "actor",
			buildProgram(r.t, "../docker/dockertest/testdata/actor"),
			v1.Config{Entrypoint: []string{"/actor", "behave", "hang"}}), Timeout: time.Hour}
	began, once := make(chan struct{}), sync.Once{}
	go func() {
		_, err := r.RunPlugin(r.t.Context(), plugin, []byte("{}"),
			func(string) { once.Do(func() { close(began) }) })
		l.ran <- err
	}()
	select {
	case <-began:
	case err := <-l.ran:
		r.t.Fatalf("the plugin did not begin: %v", err)
	}
	return l
}

// mustEnd holds the agent to an end of everything although nobody says that the machine is gone:
// it is not known what became of the plugin, which has ended by then, nor of the job.
func (l *lostWork) mustEnd(killed time.Time) {
	l.t.Helper()
	// promise: K-06
	if err := <-l.ran; !errors.Is(err, agent.ErrUnavailable) {
		l.t.Errorf("the plugin on the lost machine: %v", err)
	}
	if lasted := time.Since(killed); lasted > 3*time.Minute {
		l.t.Errorf("that the plugin is lost was known after %s", lasted)
	}
	_, err := l.Probe(l.t.Context(), l.job)
	if !errors.Is(err, agent.ErrNotFound) || !strings.Contains(err.Error(), "node2 is lost") {
		l.t.Errorf("the job on the lost machine: %v", err)
	}
	all, err := l.List(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, o := range all {
		if o.Deployment != l.deployment || o.Step != "hang" && o.Step != "job" {
			continue
		}
		// promise: K-06
		if err := l.Remove(l.t.Context(), o); err != nil {
			l.t.Errorf("%s %s on the lost machine: %v", o.Kind, o.Step, err)
		}
	}
	left, err := l.RemoveDeployment(l.t.Context(), l.deployment)
	// promise: K-06
	if err != nil || len(left) > 0 {
		l.t.Errorf("the deployment on the lost machine: %v, left %v", err, left)
	}
}

// awaitMoved waits until a service is ready, and says why it had to move.
func (r *rig) awaitMoved(s agent.ServiceSpec, why string) {
	r.t.Helper()
	r.awaitReady(s)
	if p, err := r.Probe(r.t.Context(), s); err != nil || !strings.Contains(p.Detail, why) {
		r.t.Errorf("service %s says nothing of its move: %+v, %v", s.Step, p, err)
	}
}

func (r *rig) checkEcho(deployment string, step pipeline.StepKey) {
	r.t.Helper()
	conn, err := r.Dial(r.t.Context(), deployment, step, 7)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	got := make([]byte, 4)
	if _, err := io.WriteString(conn, "ping"); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "ping" {
		r.t.Errorf("it answers %q, %v", got, err)
	}
}

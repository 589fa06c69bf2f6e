//go:build kubernetes

package kubernetes_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// A plugin runs as its image's user, by whatever name the image knows that, and never as root.
func TestRunPlugin_RunsAsItsImagesUser(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	deployment := r.newDeployment()
	actor := buildProgram(t, "../docker/dockertest/testdata/actor")
	for user, want := range map[string]int{"somebody": 1234, "somebody:staff": 1234, "77": 77,
		"root": 65534, "": 65534} {
		image := r.publish("nullops-test/user-"+strings.ReplaceAll(user+"x", ":", "-"), "actor", actor,
			v1.Config{Entrypoint: []string{"/actor"}, User: user})
		result, err := r.RunPlugin(t.Context(), agent.PluginSpec{Deployment: deployment, Run: "run",
			Step: "make", Action: "create", Image: image, StdoutLimit: 1 << 20},
			[]byte(`{"act":"look"}`), func(string) {})
		var is struct {
			UID int `json:"uid"`
		}
		if err == nil {
			err = json.Unmarshal(result.Stdout, &is)
		}
		if err != nil || is.UID != want {
			t.Errorf("the plugin of an image with the user %q runs as %d, %v", user, is.UID, err)
		}
	}
}

// A plugin knows which trace its work belongs to, also if its pod was made before its turn.
func TestRunPlugin_BelongsToItsTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	deployment := r.newDeployment()
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	p := agent.PluginSpec{Deployment: deployment, Run: "run", Step: "make", Action: "create",
		Traceparent: trace, StdoutLimit: 1 << 20, Image: r.publish("nullops-test/looks", "actor",
			buildProgram(t, "../docker/dockertest/testdata/actor"),
			v1.Config{Entrypoint: []string{"/actor"}})}
	if err := r.CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	result, err := r.RunPlugin(t.Context(), p, []byte(`{"act":"look"}`), func(string) {})
	var is struct {
		Env []string `json:"env"`
	}
	if err == nil {
		err = json.Unmarshal(result.Stdout, &is)
	}
	if err != nil || !slices.Contains(is.Env, "TRACEPARENT="+trace) {
		t.Errorf("the plugin has the variables %q, %v", is.Env, err)
	}
}

// The cluster waits longer each time before it starts a service again that ends. When the agent
// starts it, it starts at once, as on Docker.
func TestStartService_EndsTheBackOff(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	for _, volumes := range [][]pipeline.Volume{nil, {{Name: "data", Path: "/data"}}} {
		if volumes != nil {
			r = newRigWith(t, inClass(a.makeClass()))
		}
		deployment := r.newDeployment()
		web := r.echoService(deployment, "web")
		web.Command, web.Ready, web.Volumes = []string{"exit", "3"}, nil, volumes
		web.SecretEnv = map[string]string{"PASSWORD": "hunter2"}
		if err := r.StartService(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		path := "/api/v1/namespaces/" + r.namespaceOf(deployment) + "/pods"
		a.await("the cluster waits before it starts it again", func() bool {
			_, text := a.request(http.MethodGet, path, "")
			return strings.Contains(text, "CrashLoopBackOff") &&
				!strings.Contains(text, `"restartCount":1`)
		})
		if p, err := r.Probe(t.Context(), web); err != nil || !p.Ended || p.ExitCode != 3 {
			t.Errorf("it ended as %+v, %v", p, err)
		}
		uid := a.list(path).Items[0].Metadata.UID
		if err := r.StartService(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		// A pod that the cluster starts again has the id that it had: this one is the agent's.
		a.await("it was started again", func() bool {
			all := a.list(path).Items
			_, text := a.request(http.MethodGet, path, "")
			return len(all) == 1 && all[0].Metadata.UID != uid && strings.Contains(text, `"exitCode":3`)
		})
	}
}

// A service that is to be restarted now, and was not before, gets a workload in place of its pod;
// and the other way round.
func TestStartService_FollowsItsRestartPolicy(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	web := r.echoService(deployment, "web")
	workloads := "/apis/apps/v1/namespaces/" + r.namespaceOf(deployment) + "/deployments"
	for _, never := range []bool{true, false, true} {
		web.Never = never
		r.start(web)
		r.checkEcho(deployment, "web")
		if n := len(a.list(workloads).Items); (n == 0) != never {
			t.Errorf("never restarted: %t, and it has %d Deployments", never, n)
		}
		if all := r.stepsOf(deployment); len(all) != 1 || !all[0].Running {
			t.Errorf("never restarted: %t, and it is listed as %+v", never, all)
		}
	}
	if ran, err := r.StopService(t.Context(), deployment, "web"); err != nil || !ran {
		t.Errorf("stopped, it ran %t, %v", ran, err)
	}
	r.start(web)
	r.checkEcho(deployment, "web")
}

func (r *rig) stepsOf(deployment string) (mine []agent.Object) {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Deployment == deployment && o.Kind == agent.KindService {
			mine = append(mine, o)
		}
	}
	return mine
}

// What a job leaves is in the cluster until it is read, and then its pod ends: it would keep the
// room that the project's limit has for the next step.
func TestReadFiles_EndsThePodOfTheJob(t *testing.T) {
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	if err := r.LimitDeployment(t.Context(), deployment,
		pipeline.Resources{CPU: 0.5, MemoryMiB: 128}, 2); err != nil {
		t.Fatal(err)
	}
	job := jobOf(r.echoService(deployment, "job"))
	job.Command, job.Results = []string{"results", "/results"}, "/results/*.xml"
	job.Resources = pipeline.Resources{CPU: 0.5, MemoryMiB: 128}
	web := r.echoService(deployment, "web")
	web.Resources = job.Resources
	if err := r.StartService(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	r.awaitProbe(job, "ended", func(p agent.ProbeResult) bool { return p.Ended && p.ExitCode == 0 })
	found, err := r.ReadFiles(t.Context(), deployment, "job", job.Results,
		agent.FileLimits{Files: 9, Bytes: 1 << 20})
	if err != nil || len(found) != 2 {
		t.Errorf("it left %v, %v", found, err)
	}
	a.await("its pod ends", func() bool {
		_, text := a.request(http.MethodGet, "/api/v1/namespaces/"+r.namespaceOf(deployment)+
			"/pods/job", "")
		return strings.Contains(text, `"phase":"Failed"`) || strings.Contains(text,
			`"phase":"Succeeded"`)
	})
	if p, err := r.Probe(t.Context(), job); err != nil || !p.Ended || p.ExitCode != 0 || p.OOM ||
		p.Cluster != "" {
		t.Errorf("then the job is %+v, %v", p, err)
	}
	r.start(web)
}

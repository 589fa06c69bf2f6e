//go:build kubernetes

package kubernetes_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// canary is in no log, object or record of the cluster.
const canary = "canary-7fQ2x9LmV4"

// findCanary fails the test if the canary is in an object of the namespace, or anywhere in etcd.
func (a admin) findCanary(when, namespace string) {
	a.t.Helper()
	all := dumpStore(a.t)
	if len(all) < 100 {
		a.t.Errorf("etcd has only %d keys", len(all))
	}
	for _, path := range a.namespacedKinds() {
		path = fmt.Sprintf(path, namespace)
		if status, text := a.request(http.MethodGet, path, ""); status < 300 {
			all["GET "+path] = text
		}
	}
	// promise: K-03
	if keys := findIn(all, canary); len(keys) > 0 {
		a.t.Errorf("%s, the canary is in %v", when, keys)
	}
}

// No secret is in the cluster's store: not those of services, whatever they are read through, nor
// those of jobs, nor what a plugin is given or answers.
func TestKubernetes_StoresNoSecret(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	r := newRig(t)
	deployment := r.newDeployment()
	namespace := r.namespaceOf(deployment)
	web := r.echoService(deployment, "web")
	web.SecretEnv = map[string]string{"PASSWORD": canary}
	web.Files = []pipeline.File{{Path: "/etc/app.conf", Content: "password=" + canary}}
	web.Ready = &pipeline.Readiness{Command: []string{"/actor", "printenv", "PASSWORD"}}
	r.start(web)
	job := r.echoService(deployment, "job")
	job.Once, job.Ready = true, nil
	job.SecretEnv = map[string]string{"PASSWORD": canary}
	job.Command = []string{"printenv", "PASSWORD"}
	if err := r.StartService(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	r.awaitProbe(job, "ended well", func(p agent.ProbeResult) bool {
		return p.Ended && p.ExitCode == 0
	})
	actor := buildProgram(t, "../docker/dockertest/testdata/actor")
	plugin := agent.PluginSpec{Deployment: deployment, Run: "run", Step: "make", Action: "create",
		Image: r.publish("nullops-test/echo", "actor", actor,
			v1.Config{Entrypoint: []string{"/actor", "behave", "echo"}})}
	result, err := r.RunPlugin(t.Context(), plugin, []byte(canary), func(string) {})
	if err != nil || !strings.Contains(string(result.Stdout), canary) {
		t.Errorf("the plugin answers %q, %v", result.Stdout, err)
	}
	// What would be found is: a service with the canary in its plain environment.
	a.findCanary("while it runs", namespace)
	r.awaitNothing(deployment, a)
	a.findCanary("after it was deleted", namespace)
	plain := r.newDeployment()
	shown := r.echoService(plain, "web")
	shown.Env = map[string]string{"SHOWN": strings.ToUpper(canary)}
	r.start(shown)
	if keys := findIn(dumpStore(t), strings.ToUpper(canary)); len(keys) == 0 {
		t.Error("the scan finds nothing at all")
	}
}

// After a delete, the cluster has nothing of ours: no namespace, volume, role or lease.
func TestRemoveDeployment_LeavesNothing(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	r := newRigWith(t, inClass(a.makeClass()))
	deployment := r.newDeployment()
	db := r.echoService(deployment, "db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	r.start(db)
	r.awaitNothing(deployment, a)
	for key, value := range dumpStore(t) {
		if strings.HasPrefix(key, "/registry/events/") {
			continue // they go by themselves, an hour later
		}
		// promise: K-05
		if strings.Contains(key+value, r.namespaceOf(deployment)) ||
			strings.Contains(value, r.config.Install) {
			t.Errorf("%s is left", key)
		}
	}
}

// privateRegistry asks for a password, and passes what has it on to the registry of the node.
func privateRegistry(t *testing.T, user, password string) string {
	t.Helper()
	at := os.Getenv(addressVariable) + ":5001"
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http",
		Host: os.Getenv(registryVariable)})
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, q *http.Request) {
			u, p, _ := q.BasicAuth()
			if u != user || p != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			behind.ServeHTTP(w, q)
		}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return at
}

// makePrivate makes an image that no machine has yet, in a registry that wants credentials.
func (r *rig) makePrivate(repository string, auth *wire.RegistryAuth) pipeline.Image {
	r.t.Helper()
	image := r.publish(repository, "actor",
		buildProgram(r.t, "../docker/dockertest/testdata/actor"), v1.Config{
			Entrypoint: []string{"/actor"}, Labels: map[string]string{"own": repository}})
	image.Registry = privateRegistry(r.t, auth.Username, auth.Password)
	return image
}

// awaitNoSecret waits until a namespace has no credentials.
func (a admin) awaitNoSecret(namespace string) {
	a.t.Helper()
	a.await("the credentials are gone", func() bool {
		return len(a.list("/api/v1/namespaces/"+namespace+"/secrets").Items) == 0
	})
}

// The credentials of a private registry are in the cluster while an image is pulled with them, and
// not longer. Without them, the sentence says that the image cannot be pulled, and why.
func TestStartService_PullsFromPrivateRegistry(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	r := newRig(t)
	auth := &wire.RegistryAuth{Username: "puller", Password: canary + "-registry"}
	deployment := r.newDeployment()
	web := r.echoService(deployment, "web")
	web.Image = r.makePrivate("nullops-test/private", auth)
	if err := r.Pull(t.Context(), web.Image, nil, nil); err == nil {
		t.Error("a private image is pulled without its credentials")
	}
	if err := r.StartService(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	r.awaitProbe(web, "says why it cannot be pulled", func(p agent.ProbeResult) bool {
		return strings.Contains(p.Detail, "image cannot be pulled") &&
			strings.Contains(p.Detail, "401")
	})
	if err := r.Remove(t.Context(), r.onlyObject(deployment, agent.KindService)); err != nil {
		t.Fatal(err)
	}
	if err := r.Pull(t.Context(), web.Image, auth, nil); err != nil {
		t.Fatal(err)
	}
	r.start(web)
	a.awaitNoSecret(r.namespaceOf(deployment))
	if keys := findIn(dumpStore(t), auth.Password); len(keys) > 0 {
		t.Errorf("after the pull, the registry's password is in %v", keys)
	}
}

// Where the agent's image is private, the helper of each pod is pulled with what the agent's own
// pod was pulled with. Credentials of other registries are not copied. It runs alone: there is one
// private registry.
func TestPrepare_BringsTheHelpersCredentials(t *testing.T) {
	a := newAdmin(t)
	const password = canary + "-helper"
	r := newRigWith(t, func(c *kubernetes.Config) {
		at := privateRegistry(t, "puller", password)
		c.Helper = strings.Replace(c.Helper, os.Getenv(registryVariable), at, 1)
		c.PullSecrets = t.TempDir()
		auth := base64.StdEncoding.EncodeToString([]byte("puller:" + password))
		if err := os.WriteFile(filepath.Join(c.PullSecrets, "pull.json"), fmt.Appendf(nil,
			`{"auths":{%q:{"auth":%q},"other.test":{"auth":"b3RoZXI6b3RoZXI="}}}`, at, auth),
			0o600); err != nil {
			t.Fatal(err)
		}
	})
	deployment := r.newDeployment()
	r.start(r.echoService(deployment, "web"))
	if keys := findIn(dumpStore(t), password); len(keys) != 1 ||
		!strings.HasSuffix(keys[0], r.namespaceOf(deployment)+"/nullops-helper") {
		t.Errorf("the helper's credentials are in %q", keys)
	}
	if keys := findIn(dumpStore(t), "other.test"); len(keys) > 0 {
		t.Errorf("credentials of another registry are in %q", keys)
	}
	r.awaitNothing(deployment, a)
}

// onlyObject is the only object of its kind.
func (r *rig) onlyObject(deployment string, kind agent.ObjectKind) agent.Object {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Deployment == deployment && o.Kind == kind {
			return o
		}
	}
	r.t.Fatalf("there is no %s", kind)
	return agent.Object{}
}

package docker_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/pipeline"
)

// rig is one installation on a real engine. The test fails if it leaves anything.
type rig struct {
	*docker.Docker
	t       testing.TB
	host    string
	install string
	dataDir string
	runDir  string
	image   pipeline.Image
	api     *client.Client
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigOn(t, dockertest.Host(t))
}

func newRigOn(t testing.TB, host string) *rig {
	t.Helper()
	r := &rig{
		t: t, host: host, install: uuid.NewString(), dataDir: t.TempDir(),
		runDir: dockertest.RunDir(t), image: dockertest.ImportActor(t, host),
		api: dockertest.Client(t, host),
	}
	r.Docker = r.open()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 4*time.Minute)
		defer cancel()
		r.cleanUp(ctx)
	})
	return r
}

// open makes a runtime from what is on disk, as a restarted agent does.
func (r *rig) open() *docker.Docker { return r.openWith(func(*docker.Config) {}) }

func (r *rig) openWith(change func(*docker.Config)) *docker.Docker {
	r.t.Helper()
	config := docker.Config{
		Host: r.host, Install: r.install, DataDir: r.dataDir, RunDir: r.runDir,
		StopGrace: 2 * time.Second,
	}
	change(&config)
	d, err := docker.New(r.t.Context(), config)
	if err != nil {
		r.t.Fatalf("open runtime: %v", err)
	}
	return d
}

func (r *rig) cleanUp(ctx context.Context) {
	all, err := r.List(ctx)
	if err != nil {
		r.t.Errorf("list at the end: %v", err)
	}
	done := map[string]bool{}
	for _, o := range all {
		if !done[o.Deployment] {
			done[o.Deployment] = true
			if left, err := r.RemoveDeployment(ctx, o.Deployment); err != nil || len(left) > 0 {
				r.t.Errorf("remove deployment at the end: left %v, error %v", left, err)
			}
		}
	}
	if err := r.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
	world, err := dockertest.ScanForLeaks(ctx, r.host, r.install, r.dataDir+"/relays",
		r.dataDir+"/gates", r.runDir)
	if err != nil {
		r.t.Errorf("look for leaks: %v", err)
	}
	for leak := range world {
		if !strings.HasSuffix(leak, r.runDir+"/"+lastPart(leak)) {
			r.t.Errorf("leaked: %s", leak)
		}
	}
}

func lastPart(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// deployment prepares a new one and returns its id.
func (r *rig) deployment() string {
	r.t.Helper()
	id := uuid.NewString()
	if err := r.Prepare(r.t.Context(), id); err != nil {
		r.t.Fatalf("prepare: %v", err)
	}
	return id
}

// service describes the actor as a web server on port 80.
func (r *rig) service(deployment string, step pipeline.StepKey) agent.ServiceSpec {
	return agent.ServiceSpec{
		Deployment: deployment, Run: "run-1", Step: step, Image: r.image,
		Command: []string{"serve", "80"},
		Env:     map[string]string{"WHO": string(step) + " of " + deployment},
		Ports:   []pipeline.Port{{Name: "http", Port: 80, Expose: true}},
		Ready:   &pipeline.Readiness{HTTP: &pipeline.HTTPProbe{Port: 80, Path: "/"}},
	}
}

// start starts a service and waits until it is ready.
func (r *rig) start(s agent.ServiceSpec) {
	r.t.Helper()
	if err := r.StartService(r.t.Context(), s); err != nil {
		r.t.Fatalf("start service: %v", err)
	}
	r.awaitReady(s)
}

func (r *rig) awaitReady(s agent.ServiceSpec) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, r.t, fmt.Sprintf("service %s is ready", s.Step), func() bool {
		p, err := r.Probe(ctx, s)
		return err == nil && p.Health == "healthy"
	})
}

func (r *rig) plugin(deployment string, step pipeline.StepKey) agent.PluginSpec {
	return agent.PluginSpec{
		Deployment: deployment, Run: "run-1", Step: step, Action: "create", Image: r.image,
		Timeout: time.Minute, StdoutLimit: 1 << 20,
		Resources: pipeline.Resources{CPU: 1, MemoryMiB: 64},
	}
}

// act runs a plugin that does one thing, and collects its lines.
func (r *rig) act(p agent.PluginSpec, what string, n int) (agent.PluginResult, []string) {
	r.t.Helper()
	var lines []string
	result, err := r.RunPlugin(r.t.Context(), p, fmt.Appendf(nil, `{"act":%q,"n":%d}`, what, n),
		func(text string) { lines = append(lines, text) })
	if err != nil {
		r.t.Fatalf("run plugin: %v", err)
	}
	return result, lines
}

// get asks a service through its relay.
func (r *rig) get(deployment string, step pipeline.StepKey, path string) string {
	r.t.Helper()
	body, err := r.tryGet(deployment, step, path)
	if err != nil {
		r.t.Fatalf("get %s: %v", path, err)
	}
	return body
}

// tryGet is get for goroutines beside the test's own.
func (r *rig) tryGet(deployment string, step pipeline.StepKey, path string) (string, error) {
	web := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return r.Dial(ctx, deployment, step, 80)
		},
	}}
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet,
		"http://"+string(step)+path, nil)
	if err != nil {
		return "", err
	}
	response, err := web.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

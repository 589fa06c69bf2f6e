package docker_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// prepare starts a service or a job ahead, and checks that nothing of its image runs.
func (r *rig) prepare(s agent.ServiceSpec) agent.Object {
	r.t.Helper()
	if err := r.CreateService(r.t.Context(), s); err != nil {
		r.t.Fatalf("prepare service: %v", err)
	}
	return r.expectUnbegun(s)
}

func (r *rig) expectUnbegun(s agent.ServiceSpec) agent.Object {
	r.t.Helper()
	box := r.services(s.Step)[0]
	top, err := r.api.ContainerTop(r.t.Context(), box.ID, client.ContainerTopOptions{})
	if err != nil || len(top.Processes) != 1 || !box.Waiting || !box.Running ||
		!strings.Contains(strings.Join(top.Processes[0], " "), "/.nullops/init init ") {
		r.t.Errorf("a service that was prepared ahead is %+v: %v, %v", box, top.Processes, err)
	}
	if log := r.log(s); log != "" {
		r.t.Errorf("before its turn, it wrote %q", log)
	}
	diff, err := r.api.ContainerDiff(r.t.Context(), box.ID, client.ContainerDiffOptions{})
	for _, change := range diff.Changes {
		if !slices.Contains([]string{"/.nullops", "/.nullops/init", "/.nullops/run", "/out", "/etc",
			"/etc/app", "/etc/app/app.conf"}, change.Path) { // the places of mounts
			r.t.Errorf("before its turn, it changed %+v: %v", change, err)
		}
	}
	if conn, err := r.Dial(r.t.Context(), s.Deployment, s.Step, 80); err == nil {
		_ = conn.Close()
		r.t.Error("it takes connections before its turn")
	}
	if inside, err := r.ExecInService(r.t.Context(), s.Deployment, s.Step); err == nil {
		_ = inside.Close()
		r.t.Error("a command can be run in it before its turn")
	}
	return box
}

func (r *rig) log(s agent.ServiceSpec) string {
	r.t.Helper()
	log, err := r.Logs(r.t.Context(), s.Deployment, s.Step, agent.LogOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	text, _ := io.ReadAll(log)
	return string(text)
}

// A service whose container was started before its turn is the same as any other after it: its
// environment, its files, its first process, and its starts after that.
//
// promise: P-01
func TestServiceSandbox_BeginsAtItsTurn(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "api")
	s.SecretEnv = map[string]string{"TOKEN": canary}
	s.Env["LATE"] = "known at the turn"
	s.Late = []string{"LATE"}
	s.Files = []pipeline.File{{Path: "/etc/app/app.conf", Content: "password=" + canary}}
	box := r.prepare(s)
	turn := time.Now().Add(-15 * time.Millisecond) // a file's time is no more exact than that
	r.start(s)
	p, err := r.Probe(t.Context(), s)
	if err != nil || p.StartedAt.Before(turn) {
		t.Errorf("began at %s, and its turn was %s: %v", p.StartedAt, turn, err)
	}
	r.expectBegun(s, box)
	r.expectNoSecret(canary)
	// Started again, it waits for nothing, and its container stays.
	if _, err := r.StopService(t.Context(), id, "api"); err != nil {
		t.Fatal(err)
	}
	r.start(s)
	r.expectBegun(s, box)

	// Without anything secret or late, and after the machine's memory was lost.
	plain := r.service(id, "plain")
	box = r.prepare(plain)
	r.start(plain)
	r.expectBegun(plain, box)
	if _, err := r.StopService(t.Context(), id, "plain"); err != nil {
		t.Fatal(err)
	}
	r.loseMemory(id)
	r.start(plain)
	r.expectBegun(plain, box)
	if err := r.CreateService(t.Context(), plain); err == nil {
		t.Error("a service that runs was prepared")
	}
	r.expectBegun(plain, box)
}

// loseMemory is what a restart of the machine does to the folder in memory.
func (r *rig) loseMemory(deployment string) {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.runDir, "*", deployment))
	if err != nil || len(found) != 1 {
		r.t.Fatal(found, err)
	}
	if err := os.RemoveAll(found[0]); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) expectBegun(s agent.ServiceSpec, box agent.Object) {
	r.t.Helper()
	now := r.services(s.Step)
	if len(now) != 1 || now[0].ID != box.ID || now[0].Waiting {
		r.t.Errorf("it was prepared as %s, and is %+v", box.ID, now)
	}
	top, err := r.api.ContainerTop(r.t.Context(), box.ID, client.ContainerTopOptions{})
	if err != nil || len(top.Processes) != 1 ||
		strings.Contains(strings.Join(top.Processes[0], " "), ".nullops") {
		r.t.Errorf("its processes are %v: %v", top.Processes, err)
	}
	for name, want := range s.Env {
		if got := r.get(s.Deployment, s.Step, "/env?name="+name); got != want {
			r.t.Errorf("%s is %q", name, got)
		}
	}
	for name, want := range s.SecretEnv {
		if got := r.get(s.Deployment, s.Step, "/env?name="+name); got != want {
			r.t.Errorf("%s is %q", name, got)
		}
	}
	for _, f := range s.Files {
		if got := r.get(s.Deployment, s.Step, "/file?path="+f.Path); got != f.Content {
			r.t.Errorf("%s holds %q", f.Path, got)
		}
	}
}

// A job writes nothing before its turn, and is run once: also if the agent dies before the turn, or
// somebody kills the container.
//
// promise: P-01
func TestServiceSandbox_JobRunsOnce(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	job := r.service(id, "suite")
	job.Once, job.Ready, job.Ports, job.Command = true, nil, nil, []string{"results", "/out"}
	job.Volumes = []pipeline.Volume{{Name: "out", Path: "/out"}}
	first := r.prepare(job)
	if got := r.results(job); len(got) != 0 {
		t.Errorf("before its turn, it wrote %v", got)
	}
	// The agent dies: the container ends by itself, and the next agent makes another.
	ended := r.api.ContainerWait(t.Context(), first.ID, client.ContainerWaitOptions{
		Condition: container.WaitConditionNextExit})
	docker.HangUp(r.Docker)
	select {
	case w := <-ended.Result:
		if w.StatusCode != 116 {
			t.Errorf("ended with %d", w.StatusCode)
		}
	case err := <-ended.Error:
		t.Fatal(err)
	}
	r.Docker = r.open()
	second := r.prepare(job)
	if second.ID == first.ID {
		t.Error("a container that never began was kept")
	}
	// Somebody kills it.
	_, err := r.api.ContainerKill(t.Context(), second.ID, client.ContainerKillOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.StartService(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if p := r.awaitEnd(job); p.ExitCode != 0 {
		t.Errorf("ended with %+v", p)
	}
	if got := r.results(job); !cmp.Equal(got, []string{"a.xml", "b.xml"}) {
		t.Errorf("wrote %v", got)
	}
	third := r.services("suite")[0].ID
	if err := r.CreateService(t.Context(), job); err == nil {
		t.Error("an ended job was prepared")
	}
	if err := r.StartService(t.Context(), job); err != nil || r.services("suite")[0].ID != third {
		t.Errorf("an ended job was started again: %v", err)
	}
}

func (r *rig) results(s agent.ServiceSpec) (names []string) {
	r.t.Helper()
	files, err := r.ReadFiles(r.t.Context(), s.Deployment, s.Step, "/out/*.xml",
		agent.FileLimits{Files: 10, Bytes: 1 << 20})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// Sandboxes of services share the node's limit with those of plugins, and closing the runtime
// leaves none. A command that is not there is the engine's to report, as ever.
func TestServiceSandbox_IsBounded(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	small := r.openWith(func(c *docker.Config) { c.SandboxMemory = 16 << 20 })
	missing := r.service(id, "missing")
	missing.Entrypoint, missing.Command = []string{"/nothing"}, nil
	if err := small.CreateService(t.Context(), missing); err == nil {
		t.Error("a service without a command was prepared")
	}
	err := small.StartService(t.Context(), missing)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("started without a command: %v", err)
	}
	if left, err := small.RemoveDeployment(t.Context(), id); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if err := small.Prepare(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := small.CreatePlugin(t.Context(), r.plugin(id, "first")); err != nil {
		t.Fatal(err)
	}
	err = small.CreateService(t.Context(), r.service(id, "second"))
	if err == nil || !strings.Contains(err.Error(), "agent.sandboxes.memory") {
		t.Errorf("beyond the limit: %v", err)
	}
	if _, err := small.RemoveDeployment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := small.Prepare(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := small.CreateService(t.Context(), r.service(id, "second")); err != nil {
		t.Fatal(err)
	}
	if err := small.Close(); err != nil {
		t.Error(err)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindTmpfs)
}

package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// An engine that is killed, frozen and started again: nothing is concluded
// while it cannot be asked, and afterwards everything can be put right.
//
// fault: F37, F38
func TestEngine_KilledAndBack(t *testing.T) {
	testpart.Rotate(t)
	engine := dockertest.StartDaemon(t)
	r := newRigOn(t, engine.Host)
	before, err := dockertest.ScanForLeaks(t.Context(), engine.Host, "")
	if err != nil {
		t.Fatal(err)
	}
	id := r.deployment()
	s := r.service(id, "web")
	s.SecretEnv = map[string]string{"TOKEN": canary}
	r.start(s)
	r.shimKilled(engine, s)
	jobs := r.startJobs(id)
	running := r.plugin(id, "running")
	lost := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		_, err := r.RunPlugin(t.Context(), running, []byte(`{"act":"sleep"}`),
			func(string) { close(started) })
		lost <- err
	}()
	<-started
	engine.Kill()
	if err := <-lost; !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("the running plugin: %v", err)
	}
	r.expectUnavailable(s)
	r.reopenWithoutEngine(s)
	engine.Start()
	if err := r.Prepare(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r.start(s)
	if got := r.get(id, "web", "/env?name=TOKEN"); got != canary {
		t.Errorf("the service sees %q", got)
	}
	r.expectJobsEnded(jobs)
	r.expectNoSecretOn(engine)
	left, err := r.RemoveDeployment(t.Context(), id)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
	// On an engine of our own, everything is looked at, labelled or not.
	world, err := dockertest.ScanForLeaks(t.Context(), engine.Host, "")
	if err != nil {
		t.Fatal(err)
	}
	if leaks := world.AddedSince(before); len(leaks) > 0 {
		t.Errorf("left on the engine: %q", leaks)
	}
}

// The first deployments of several agents on one engine all find no image of the relay, and each
// makes it. They share one, which nobody replaces below a container that is being created. Engine
// 29 refused one of two imports at a time.
func TestEngine_HelperImageMadeByMany(t *testing.T) {
	testpart.Rotate(t)
	engine := dockertest.StartDaemon(t)
	rigs := make([]*rig, 6)
	for i := range rigs {
		rigs[i] = newRigOn(t, engine.Host)
	}
	prepared := make(chan error, len(rigs))
	for _, r := range rigs {
		go func() { prepared <- r.Prepare(t.Context(), uuid.NewString()) }()
	}
	for range rigs {
		if err := <-prepared; err != nil {
			t.Error(err)
		}
	}
	all, err := rigs[0].api.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	// The other is the actor's.
	if len(all.Items) != 2 {
		t.Errorf("the engine has %d images: %+v", len(all.Items), all.Items)
	}
}

// With agent.oci, containers are created with another OCI runtime than the engine's default.
// One that the engine does not know is refused with what to do, and is a failed check.
func TestEngine_RuntimeOfTheSetting(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	info, err := r.api.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := "runc"
	if info.Info.DefaultRuntime == other {
		other = "io.containerd.runc.v2" // the same program by another name
	}
	_ = r.Close()
	r.Docker = r.openWith(func(c *docker.Config) { c.Runtime = other })
	s := r.service(r.deployment(), "web")
	r.start(s)
	for _, kind := range []agent.ObjectKind{agent.KindService, agent.KindRelay} {
		c, err := r.api.ContainerInspect(t.Context(), r.find(kind).ID, client.ContainerInspectOptions{})
		if err != nil || c.Container.HostConfig.Runtime != other {
			t.Errorf("%s: %v, error %v, want runtime %s", kind, c.Container.HostConfig, err, other)
		}
	}
	wrong := r.openWith(func(c *docker.Config) { c.Runtime = "nowhere" })
	defer wrong.Close()
	err = wrong.Prepare(t.Context(), uuid.NewString())
	if err == nil || !strings.Contains(err.Error(), `agent.oci: the engine knows no OCI runtime `+
		`called "nowhere", only`) || !strings.Contains(err.Error(), "daemon.json") {
		t.Errorf("an unknown runtime: %v", err)
	}
	found, err := wrong.Inventory(t.Context())
	if err != nil || !slices.ContainsFunc(found.Checks, func(c wire.Check) bool {
		return c.ID == "oci-runtime" && c.Severity == wire.SeverityCritical
	}) {
		t.Errorf("its checks: %+v, error %v", found.Checks, err)
	}
}

// shimKilled takes the process away that the engine has for a service's container. The service
// counts as ended, its process does not live on, and it can be started again.
func (r *rig) shimKilled(engine *dockertest.Daemon, s agent.ServiceSpec) {
	r.t.Helper()
	id := r.find(agent.KindService).ID
	c, err := r.api.ContainerInspect(r.t.Context(), id, client.ContainerInspectOptions{})
	if err == nil {
		err = engine.KillShim(id)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.awaitEnd(s)
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, r.t, "the service's process is gone", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", c.Container.State.Pid))
		return errors.Is(err, os.ErrNotExist)
	})
	r.start(s)
	// fault: F45
	if got := r.get(s.Deployment, s.Step, "/env?name=TOKEN"); got != canary {
		r.t.Errorf("started again, the service sees %q", got)
	}
}

// startJobs starts two jobs: one that ends with exit code 3, and one that runs.
func (r *rig) startJobs(deployment string) map[string]agent.ServiceSpec {
	r.t.Helper()
	all := map[string]agent.ServiceSpec{}
	for step, command := range map[string][]string{"ended": {"exit", "3"}, "endless": {"sleep"}} {
		job := r.service(deployment, pipeline.StepKey(step))
		job.Once, job.Ready, job.Ports, job.Command = true, nil, nil, command
		job.SecretEnv = map[string]string{"TOKEN": canary}
		if err := r.StartService(r.t.Context(), job); err != nil {
			r.t.Fatal(err)
		}
		all[step] = job
	}
	if p := r.awaitEnd(all["ended"]); p.ExitCode != 3 {
		r.t.Errorf("the job that ends: %+v", p)
	}
	return all
}

// expectJobsEnded starts the jobs again after a kill of the engine, which starts none: the one
// that had ended has its exit code, and the one that the engine lost has not ended well.
func (r *rig) expectJobsEnded(jobs map[string]agent.ServiceSpec) {
	r.t.Helper()
	for step, job := range jobs {
		if err := r.StartService(r.t.Context(), job); err != nil {
			r.t.Errorf("start job %s again: %v", step, err)
		}
		p, err := r.Probe(r.t.Context(), job)
		if err != nil || !p.Ended || p.ExitCode == 0 || step == "ended" && p.ExitCode != 3 {
			r.t.Errorf("job %s after the engine was killed: %+v, %v", step, p, err)
		}
	}
}

// reopenWithoutEngine restarts the agent while the engine is down: what runs is in reach, and this
// life of the agent continues with the engine that comes back.
func (r *rig) reopenWithoutEngine(s agent.ServiceSpec) {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
	r.Docker = r.openWith(func(c *docker.Config) { c.EngineMayBeDown = true })
	if got := r.get(s.Deployment, s.Step, "/env?name=TOKEN"); got != canary {
		r.t.Errorf("without the engine, the service says %q", got)
	}
	if _, err := r.Inventory(r.t.Context()); !errors.Is(err, agent.ErrUnavailable) {
		r.t.Errorf("inventory: %v", err)
	}
	r.expectUnavailable(s)
}

func (r *rig) expectUnavailable(s agent.ServiceSpec) {
	r.t.Helper()
	ctx := r.t.Context()
	_, listErr := r.List(ctx)
	_, probeErr := r.Probe(ctx, s)
	for what, err := range map[string]error{
		"list": listErr, "probe": probeErr,
		"start":   r.StartService(ctx, s),
		"prepare": r.Prepare(ctx, uuid.NewString()),
		"pull":    r.Pull(ctx, r.image, nil, nil),
	} {
		if !errors.Is(err, agent.ErrUnavailable) || errors.Is(err, agent.ErrNotFound) {
			r.t.Errorf("%s: %v", what, err)
		}
	}
}

// expectNoSecretOn searches everything of a private engine, images included.
func (r *rig) expectNoSecretOn(engine *dockertest.Daemon) {
	r.t.Helper()
	hits, err := dockertest.FindSecret(r.t.Context(), canary, dockertest.SecretPlaces{
		Host: engine.Host, Folders: []string{engine.Root, r.dataDir},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(hits) > 0 {
		r.t.Errorf("the secret is in %s", strings.Join(hits, "\n"))
	}
}

// A caller stops waiting for an engine that does not answer; the running operation is found and
// adopted afterwards.
//
// fault: F38, F39
func TestEngine_FrozenThenAdopted(t *testing.T) {
	testpart.Rotate(t)
	engine := dockertest.StartDaemon(t)
	r := newRigOn(t, engine.Host)
	id := r.deployment()
	s := r.service(id, "web")
	engine.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := r.StartService(ctx, s); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("a frozen engine: %v", err)
	}
	engine.Thaw()
	r.start(s)
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindService)
}

// Settings that cannot work are refused with their remedy.
func TestNew_RefusesBadSettings(t *testing.T) {
	host := dockertest.Host(t)
	good := docker.Config{
		Host: host, Install: "test", DataDir: t.TempDir(), RunDir: dockertest.RunDir(t),
	}
	for name, c := range map[string]struct {
		change func(*docker.Config)
		want   string
	}{
		"no host":       {func(c *docker.Config) { c.Host = "" }, "docker host is empty"},
		"no install":    {func(c *docker.Config) { c.Install = "" }, "install id is empty"},
		"relative data": {func(c *docker.Config) { c.DataDir = "data" }, "not an absolute path"},
		"disk":          {func(c *docker.Config) { c.RunDir = t.TempDir() }, "mount a tmpfs there"},
		"subnet":        {func(c *docker.Config) { c.SubnetBits = 30 }, "give a value from 16 to 29"},
		"nobody there": {func(c *docker.Config) { c.Host = "unix:///nonexistent.sock" },
			agent.ErrUnavailable.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			c.change(&bad)
			_, err := docker.New(t.Context(), bad)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// Objects are found in every state: created and never started, ended, running.
func TestList_SeesEveryState(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	if err := r.CreatePlugin(t.Context(), r.plugin(id, "waiting")); err != nil {
		t.Fatal(err)
	}
	s := r.service(id, "ended")
	s.Command = []string{"exit", "1"}
	if err := r.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindPlugin, agent.KindService)
	w := r.api.ContainerWait(t.Context(), r.find(agent.KindService).ID, client.ContainerWaitOptions{})
	select {
	case <-w.Result:
	case err := <-w.Error:
		t.Fatal(err)
	}
	// Who waits hears of the end before the engine's own list shows it.
	dockertest.WaitUntil(t.Context(), t, "the list shows that the service has ended", func() bool {
		return !r.find(agent.KindService).Running
	})
	p := r.find(agent.KindPlugin)
	if o := r.find(agent.KindService); o.Running || o.Step != "ended" || o.Run != "run-1" ||
		o.Deployment != id || !p.Running || !p.Waiting || p.Step != "waiting" || p.Spec == "" {
		t.Errorf("found %+v and %+v", o, p)
	}
}

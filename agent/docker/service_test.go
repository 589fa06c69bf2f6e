package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

const canary = `canary "Kq93/x+Zz%&é" 77`

// A service gets its secret, and nothing on the node but tmpfs holds it.
func TestService_SecretsReachTheProcessOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "api")
	s.SecretEnv = map[string]string{"TOKEN": canary, "FROM_IMAGE": "replaced"}
	s.Files = []pipeline.File{{Path: "/etc/app/app.conf", Content: "password=" + canary}}
	r.start(s)
	if got := r.get(id, "api", "/env?name=TOKEN"); got != canary {
		t.Errorf("the process sees %q", got)
	}
	if got := r.get(id, "api", "/env?name=FROM_IMAGE"); got != "replaced" {
		t.Errorf("the image's variable is %q", got)
	}
	if got := r.get(id, "api", "/env?name=WHO"); got != s.Env["WHO"] {
		t.Errorf("the public variable is %q", got)
	}
	if got := r.get(id, "api", "/file?path=/etc/app/app.conf"); got != "password="+canary {
		t.Errorf("the rendered file is %q", got)
	}
	// promise: N-116
	r.expectNoSecret(canary)
	// The scan can find it: it is in tmpfs, where it belongs.
	hits, err := dockertest.FindSecret(t.Context(), canary,
		dockertest.SecretPlaces{Folders: []string{r.runDir}})
	if err != nil || len(hits) < 2 {
		t.Errorf("the scan finds %v in tmpfs, error %v", hits, err)
	}
	r.expectOthersShutOut(id)
}

// Nobody else on the node can walk into a deployment's folder.
func (r *rig) expectOthersShutOut(deployment string) {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.runDir, "*", deployment))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("folder of the deployment: %v, %v", found, err)
	}
	info, err := os.Stat(found[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		r.t.Errorf("the folder's mode is %v, error %v", info.Mode(), err)
	}
}

// The image's user, entrypoint, command and PATH are the same as without the init, whichever user
// it is.
func TestService_InitKeepsTheImagesOwnCommand(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	for step, user := range map[string]string{"named": "somebody", "numbered": "1234:1234"} {
		image := dockertest.ImportActorImage(t, r.host, "nullops-test/"+step, `ENTRYPOINT ["actor"]`,
			`CMD ["serve","80"]`, "ENV PATH=/nowhere:/", "USER "+user)
		s := r.service(id, pipeline.StepKey(step))
		s.Image, s.Command = image, nil
		s.SecretEnv = map[string]string{"TOKEN": canary}
		r.start(s)
		var look struct {
			UID    int      `json:"uid"`
			Args   []string `json:"args"`
			Status map[string]string
		}
		if err := json.Unmarshal([]byte(r.get(id, s.Step, "/look")), &look); err != nil {
			t.Fatal(err)
		}
		if look.UID != 1234 || !cmp.Equal(look.Args, []string{"actor", "serve", "80"}) {
			t.Errorf("user %s: uid %d runs %q", user, look.UID, look.Args)
		}
		if got := r.get(id, s.Step, "/env?name=TOKEN"); got != canary {
			t.Errorf("user %s sees %q", user, got)
		}
	}
}

// A command that the image lacks is named without the programs that passed the error on.
func TestService_SaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(r.deployment(), "api")
	s.Entrypoint = []string{"/not-here"}
	start, ok := errors.AsType[*agent.StartError](r.StartService(t.Context(), s))
	// promise: U-01
	if !ok || !strings.Contains(start.Reason, "/not-here") ||
		strings.Contains(start.Reason, "daemon") || strings.Contains(start.Reason, "runc") ||
		strings.Contains(start.Reason, "unknown") {
		t.Errorf("it says %v", start)
	}
}

// A new secret makes a new container; the same one keeps it.
func TestService_ReplacedOnlyIfChanged(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "api")
	s.SecretEnv = map[string]string{"TOKEN": "first-secret"}
	r.start(s)
	first := r.find(agent.KindService)
	r.start(s)
	if got := r.find(agent.KindService); got.ID != first.ID || got.Spec != first.Spec {
		t.Errorf("started twice: %v became %v", first, got)
	}
	s.SecretEnv = map[string]string{"TOKEN": "second-secret"}
	r.start(s)
	if got := r.get(id, "api", "/env?name=TOKEN"); got != "second-secret" {
		t.Errorf("after a new secret the process sees %q", got)
	}
	s.Env = map[string]string{"WHO": "another"}
	before := r.find(agent.KindService)
	r.start(s)
	if got := r.find(agent.KindService); got.ID == before.ID || got.Spec == before.Spec {
		t.Errorf("after a new variable %v stayed", got)
	}
}

// An answer that was lost, or an agent that restarted, finds what it made.
func TestService_AdoptedByARestartedAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	s.SecretEnv = map[string]string{"TOKEN": canary}
	r.start(s)
	before, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again := r.open()
	defer func() { _ = again.Close() }()
	if err := again.Prepare(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := again.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	after, err := again.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("objects changed (-before +after):\n%s", diff)
	}
}

// A foreign container under our name is left alone.
//
// fault: F41
func TestService_StrangersContainerIsNotTouched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	r.start(s)
	name := r.find(agent.KindService).Name
	if err := r.Remove(t.Context(), r.find(agent.KindService)); err != nil {
		t.Fatal(err)
	}
	c, err := r.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Image: r.image.Repository + ":" + r.image.Tag,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = r.api.ContainerRemove(context.WithoutCancel(t.Context()), c.ID,
			client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}()
	if err := r.StartService(t.Context(), s); err == nil ||
		!strings.Contains(err.Error(), "not ours") {
		t.Errorf("error is %v", err)
	}
	if _, err := r.api.ContainerInspect(t.Context(), c.ID,
		client.ContainerInspectOptions{}); err != nil {
		t.Errorf("the stranger's container: %v", err)
	}
}

// Limits, capabilities and the log's size are what the engine enforces; no
// port is published.
func TestService_LimitsAndNoPublishedPorts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	// Little, so that it wants more than that on a machine that is busy with other things too.
	s.Resources = pipeline.Resources{CPU: 0.05, MemoryMiB: 48}
	r.start(s)
	c, err := r.api.ContainerInspect(t.Context(), r.find(agent.KindService).ID,
		client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := c.Container.HostConfig
	// promise: N-135
	if h.Memory != 48<<20 || h.MemorySwap != h.Memory || h.NanoCPUs != 5e7 {
		t.Errorf("memory %d, swap %d, cpu %d", h.Memory, h.MemorySwap, h.NanoCPUs)
	}
	// promise: N-135
	if !r.isThrottled(id, "web", c.Container.ID) {
		t.Error("a service that wants whole cores was never held to its part of one")
	}
	if h.LogConfig.Type != "local" || h.LogConfig.Config["max-size"] != "5m" {
		t.Errorf("logs go to %+v", h.LogConfig)
	}
	if h.RestartPolicy.Name != "no" || h.Privileged || h.PublishAllPorts {
		t.Errorf("host config is %+v", h)
	}
	// promise: N-173
	for port, bindings := range c.Container.NetworkSettings.Ports {
		if len(bindings) > 0 {
			t.Errorf("port %v is published: %v", port, bindings)
		}
	}
	var look struct {
		Status map[string]string `json:"status"`
	}
	if err := json.Unmarshal([]byte(r.get(id, "web", "/look")), &look); err != nil {
		t.Fatal(err)
	}
	// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE.
	if look.Status["CapBnd"] != "00000000000004fb" || look.Status["NoNewPrivs"] != "1" {
		t.Errorf("capabilities %s, no new privileges %s",
			look.Status["CapBnd"], look.Status["NoNewPrivs"])
	}
}

// isThrottled makes a service ask for a whole core, second after second, until the kernel holds it
// to its share. A machine that is busy otherwise gives it less than its limit for a while.
func (r *rig) isThrottled(id string, key pipeline.StepKey, container string) bool {
	r.t.Helper()
	for range 30 {
		r.get(id, key, "/spin")
		if r.throttledPeriods(container) > 0 {
			return true
		}
	}
	return false
}

// throttledPeriods is how often the kernel kept a container from using more CPU.
func (r *rig) throttledPeriods(container string) uint64 {
	r.t.Helper()
	answer, err := r.api.ContainerStats(r.t.Context(), container, client.ContainerStatsOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var stats struct {
		CPU struct {
			Throttling struct {
				Periods uint64 `json:"throttled_periods"`
			} `json:"throttling_data"`
		} `json:"cpu_stats"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
		r.t.Fatal(err)
	}
	return stats.CPU.Throttling.Periods
}

// A volume outlives its container and dies with the deployment.
func TestService_VolumeLivesWithTheDeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "db")
	s.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	r.start(s)
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindService, agent.KindVolume)
	if err := r.Remove(t.Context(), r.find(agent.KindService)); err != nil {
		t.Fatal(err)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindVolume)
}

// A stopped service gets its stop signal, and what it writes then is there after the start; one
// that ignores the signal is killed.
func TestService_StopsGracefully(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "db")
	s.Command = []string{"serve", "80", "/last"}
	r.start(s)
	for _, said := range []string{"told to end\n", "told to end\ntold to end\n"} {
		if ran, err := r.StopService(t.Context(), id, "db"); !ran || err != nil {
			t.Fatalf("stopped, it ran %t: %v", ran, err)
		}
		if p, err := r.Probe(t.Context(), s); err != nil || !p.Ended || p.ExitCode != 0 {
			t.Errorf("stopped, it is %+v: %v", p, err)
		}
		r.start(s)
		if got := r.get(id, "db", "/file?path=/last"); got != said {
			t.Errorf("its container holds %q instead of %q", got, said)
		}
	}
	deaf := r.service(id, "deaf")
	deaf.Command, deaf.Ready = []string{"stubborn"}, nil
	r.start(deaf)
	ran, err := r.StopService(t.Context(), id, "deaf")
	if p, _ := r.Probe(t.Context(), deaf); !ran || err != nil || !p.Ended {
		t.Errorf("one that does not listen ran %t, and is %+v: %v", ran, p, err)
	}
}

// What a probe says, case by case.
func TestProbe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	r.start(s)
	for name, c := range map[string]struct {
		ready  *pipeline.Readiness
		health string
		detail string
	}{
		"running": {nil, "healthy", ""},
		"tcp": {&pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 80}}, "healthy",
			"port 80 takes connections"},
		"tcp shut": {&pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 81}}, "unhealthy",
			"nothing listens on web:81"},
		"http 302": {httpProbe("/status/302", 0), "healthy",
			"GET /status/302 on port 80 answered 302"},
		"http 500": {httpProbe("/status/500", 0), "unhealthy",
			"GET /status/500 on port 80 answered 500"},
		"exact": {httpProbe("/status/404", 404), "healthy",
			"GET /status/404 on port 80 answered 404"},
		"command": {&pipeline.Readiness{Command: []string{"/actor", "exit", "0"}}, "healthy",
			"exiting with 0"},
		"command failing": {&pipeline.Readiness{Command: []string{"/actor", "exit", "4"}},
			"unhealthy", "/actor exited with code 4: exiting with 4"},
		"command hanging": {&pipeline.Readiness{Command: []string{"/actor", "sleep"},
			TimeoutSeconds: 1}, "unhealthy", "no answer in time"},
		"image": {&pipeline.Readiness{Image: true}, "unhealthy",
			"the image declares no health check: choose another readiness check"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			s.Ready = c.ready
			p, err := r.Probe(t.Context(), s)
			if err != nil || string(p.Health) != c.health || p.Detail != c.detail || p.Ended {
				t.Errorf("probed %+v, error %v", p, err)
			}
		})
	}
}

func httpProbe(path string, status int) *pipeline.Readiness {
	return &pipeline.Readiness{HTTP: &pipeline.HTTPProbe{Port: 80, Path: path, Status: status}}
}

// A service that ended says how.
func TestProbe_Ended(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	s.Command = []string{"exit", "9"}
	if err := r.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, t, "the service has ended", func() bool {
		p, err := r.Probe(ctx, s)
		return err == nil && p.Ended && p.ExitCode == 9 && p.Detail == "exited with code 9"
	})
}

// Lines of both streams come with their time, and can be followed.
func TestLogs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	var text []byte
	// A process that was just started may not have written yet.
	dockertest.WaitUntil(t.Context(), t, "the service has written", func() bool {
		logs, err := r.Logs(t.Context(), id, "web", agent.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err = io.ReadAll(logs)
		if err != nil || logs.Close() != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n")) >= 2
	})
	var said []string
	for line := range strings.Lines(string(text)) {
		at, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
			t.Errorf("line %q has no time: %v", line, err)
		}
		said = append(said, rest)
	}
	if len(said) != 2 || !strings.Contains(strings.Join(said, "|"), "serving on 80") {
		t.Errorf("the service said %q", said)
	}
	follow, err := r.Logs(t.Context(), id, "web", agent.LogOptions{Follow: true, Tail: 1})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 8)
	if _, err := io.ReadFull(follow, line); err != nil {
		t.Error(err)
	}
	if err := follow.Close(); err != nil {
		t.Errorf("stop following: %v", err)
	}
}

// Vitals measure what is there and say what is not.
func TestVitals(t *testing.T) {
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	r.start(s)
	missing := r.service(uuid.NewString(), "web")
	first, err := r.Vitals(t.Context(), []agent.ServiceSpec{s})
	if err != nil {
		t.Fatal(err)
	}
	if first.Services[0].CPU <= 0 {
		t.Errorf("its start cost nothing: %+v", first.Services[0])
	}
	v, err := r.Vitals(t.Context(), []agent.ServiceSpec{s, missing})
	if err != nil || len(v.Services) != 2 {
		t.Fatalf("vitals %+v, error %v", v, err)
	}
	if v.MemoryUsed < 1<<20 || v.DiskFree < 1<<20 || v.CPU < 0 {
		t.Errorf("node: %+v", v)
	}
	web := v.Services[0]
	if web.Health != "unknown" || web.Memory < 100<<10 || web.Memory > 100<<20 {
		t.Errorf("web: %+v", web)
	}
	if gone := v.Services[1]; gone.Health != "stopped" {
		t.Errorf("missing service: %+v", gone)
	}
	i, err := r.Inventory(t.Context())
	if err != nil || i.CPU < 1 || i.Memory < 1<<30 || i.Subnets != 1024 || i.EngineVersion == "" {
		t.Errorf("inventory %+v, error %v", i, err)
	}
}

// An upgraded connection passes bytes both ways, through the relay and without it.
func TestDial_Upgrade(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"relay", "inside"} {
		t.Run(way, func(t *testing.T) {
			r := newRig(t)
			if way == "relay" {
				docker.HideProcesses(r.Docker, t.TempDir())
			}
			dialUpgrade(t, r)
		})
	}
}

func dialUpgrade(t *testing.T, r *rig) {
	t.Helper()
	id := r.deployment()
	r.start(r.service(id, "web"))
	conn, err := r.Dial(t.Context(), id, "web", 80)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(conn, "GET /echo HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\n\r\nhello")
	head := make([]byte, len("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\n\r\nhello"))
	if _, err := io.ReadFull(conn, head); err != nil ||
		!strings.HasPrefix(string(head), "HTTP/1.1 101") || !strings.HasSuffix(string(head), "hello") {
		t.Errorf("got %q, error %v", head, err)
	}
}

// A relay rests below 5 MiB.
func TestRelay_Memory(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	docker.HideProcesses(r.Docker, t.TempDir())
	id := r.deployment()
	r.start(r.service(id, "web"))
	// As many as the checks of a service make in an hour: what it rests at counts,
	// not what it begins with.
	for range 700 {
		conn, err := r.Dial(t.Context(), id, "web", 80)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	c, err := r.api.ContainerInspect(t.Context(), r.find(agent.KindRelay).ID,
		client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rss := dockertest.ProcessMemory(t, c.Container.State.Pid)
	for tries := 0; rss > 5<<20 && tries < 60; tries++ {
		time.Sleep(time.Second) // it comes to rest a moment after the last one asked
		rss = dockertest.ProcessMemory(t, c.Container.State.Pid)
	}
	if rss > 5<<20 {
		t.Errorf("the relay holds %d KiB", rss>>10)
	}
	t.Logf("the relay holds %d KiB", rss>>10)
}

// The relay dials services by name, and nothing else.
func TestRelay_RefusesAddresses(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	for _, target := range []pipeline.StepKey{
		"127.0.0.1", "localhost", "web.example", "", "nobody", "10.213.0.1",
	} {
		if conn, err := r.Dial(t.Context(), id, target, 80); err == nil {
			_ = conn.Close()
			t.Errorf("%q was dialled", target)
		}
	}
	if _, err := r.Dial(t.Context(), uuid.NewString(), "web", 80); err == nil {
		t.Error("a deployment without a relay was dialled")
	}
}

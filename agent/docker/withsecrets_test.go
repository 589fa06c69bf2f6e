package docker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// printToken needs the service's secret variable TOKEN.
func printToken() []string { return []string{"/actor", "printenv", "TOKEN"} }

// Readiness commands and people's commands see the variables of the service's
// process, whoever the image's user is, and after every kind of restart. What the
// engine shows of them holds no value.
func TestSecrets_SeenByCommands(t *testing.T) {
	r := newRig(t)
	id := r.deployment()
	for step, user := range map[pipeline.StepKey]string{
		"named": "somebody", "numbered": "1234:1234"} {
		s := r.service(id, step)
		s.Image = dockertest.ImportActorImage(t, r.host, "nullops-test/reader", "USER "+user)
		s.SecretEnv = map[string]string{"TOKEN": canary}
		s.Command, s.Ready = []string{"/actor", "sleep"}, &pipeline.Readiness{Command: printToken()}
		r.start(s)
		r.expectSeen(r.Docker, s)
	}
	s := r.service(id, "named")
	s.Ready = &pipeline.Readiness{Command: printToken()}
	again := r.open()
	defer func() { _ = again.Close() }()
	r.expectSeen(again, s)
	r.expectExecHidden(s)
	if _, err := again.StopService(t.Context(), id, "named"); err != nil {
		t.Fatal(err)
	}
	s.Image = dockertest.ImportActorImage(t, r.host, "nullops-test/reader", "USER somebody")
	s.SecretEnv, s.Command = map[string]string{"TOKEN": canary}, []string{"/actor", "sleep"}
	r.start(s)
	r.expectSeen(again, s)
	r.expectNoSecret(canary)
}

// expectSeen probes without the values, as an agent does.
func (r *rig) expectSeen(d *docker.Docker, s agent.ServiceSpec) {
	r.t.Helper()
	bare := s
	bare.SecretEnv = nil
	p, err := d.Probe(r.t.Context(), bare)
	if err != nil || string(p.Health) != "healthy" || p.Detail != canary {
		r.t.Errorf("%s: the readiness command says %+v, error %v", s.Step, p, err)
	}
	for _, tty := range []bool{false, true} {
		c, err := d.ExecInService(r.t.Context(), s.Deployment, s.Step)
		if err != nil {
			r.t.Fatal(err)
		}
		out, end := runInService(r.t, c, sidecar.Start{Command: printToken(), TTY: tty}, "")
		if strings.TrimSpace(out) != canary || end.Code != 0 {
			r.t.Errorf("%s: a person's command prints %q, %+v", s.Step, out, end)
		}
		_ = c.Close()
	}
}

// expectExecHidden looks at a command while it runs.
func (r *rig) expectExecHidden(s agent.ServiceSpec) {
	r.t.Helper()
	c, err := r.ExecInService(r.t.Context(), s.Deployment, s.Step)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	err = sidecar.NewFrameWriter(c).JSON(sidecar.FrameStart,
		sidecar.Start{Command: []string{"/actor", "sleep"}})
	if err == nil {
		_, err = sidecar.ReadFrame(c)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	shown := r.inspectService(s)
	if len(shown.ExecIDs) == 0 {
		r.t.Fatal("no command runs")
	}
	for _, exec := range shown.ExecIDs {
		e, err := r.api.ExecInspect(r.t.Context(), exec, client.ExecInspectOptions{})
		if err != nil || strings.Contains(fmt.Sprintf("%+v", e), canary) {
			r.t.Errorf("the engine shows of a command: %+v, %v", e, err)
		}
	}
	r.expectNoSecret(canary)
}

func (r *rig) inspectService(s agent.ServiceSpec) container.InspectResponse {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Step == s.Step {
			c, err := r.api.ContainerInspect(r.t.Context(), o.ID, client.ContainerInspectOptions{})
			if err != nil {
				r.t.Fatal(err)
			}
			return c.Container
		}
	}
	r.t.Fatalf("%s has no container", s.Step)
	return container.InspectResponse{}
}

// An image's health check sees them too, in both of its forms. What it prints is
// shown to people, who get it masked, and is nowhere on the engine's disk.
func TestSecrets_SeenByTheImagesHealthCheck(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	id := r.deployment()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for step, c := range map[pipeline.StepKey]struct{ user, check, health, detail string }{
		"command": {"somebody", `CMD ["/actor","printenv","TOKEN","3"]`, "unhealthy",
			"the image's health check exited with code 3: " + canary},
		"good": {"root", `CMD ["/actor","printenv","TOKEN"]`, "healthy", ""},
		"shell": {"1234", `CMD printenv TOKEN 4`, "unhealthy",
			"the image's health check exited with code 4: " + canary},
	} {
		s := r.service(id, step)
		s.Image = dockertest.ImportActorImage(t, r.host, "nullops-test/checked", "USER "+c.user,
			"HEALTHCHECK --interval=1h --timeout=50s --retries=1 "+c.check)
		s.SecretEnv = map[string]string{"TOKEN": canary}
		s.Command = []string{"/actor", "sleep"}
		s.Ready = &pipeline.Readiness{Image: true, IntervalSeconds: 1}
		if err := r.StartService(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var p agent.ProbeResult
		dockertest.WaitUntil(ctx, t, "the image's check says "+c.health, func() (so bool) {
			var err error
			if p, err = r.Probe(ctx, s); err != nil {
				t.Fatal(err)
			}
			return string(p.Health) == c.health
		})
		if p.Detail != c.detail {
			t.Errorf("%s: it shows %q instead of %q", step, p.Detail, c.detail)
		}
		r.expectNothingKept(s)
	}
	r.expectNoSecret(canary)
}

// expectNothingKept looks at what the engine kept of a health check's output, and
// whether the image's times still hold.
func (r *rig) expectNothingKept(s agent.ServiceSpec) {
	r.t.Helper()
	c := r.inspectService(s)
	for _, entry := range c.State.Health.Log {
		if entry.Output != "" {
			r.t.Errorf("%s: the engine keeps %q", s.Step, entry.Output)
		}
	}
	h := c.Config.Healthcheck
	if h.Interval != time.Second || h.Timeout != 50*time.Second || h.Retries != 1 {
		r.t.Errorf("%s: its times are %+v", s.Step, h)
	}
}

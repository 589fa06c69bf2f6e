package docker_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/events"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// What a step says of its process holds in the container, also when a secret
// variable puts our init before the entrypoint.
func TestService_ProcessIsStartedAsTheStepSays(t *testing.T) {
	r := newRig(t)
	id := r.deployment()
	for step, secret := range map[pipeline.StepKey]map[string]string{
		"plain": nil, "secret": {"TOKEN": canary}} {
		s := r.service(id, step)
		s.SecretEnv = secret
		// The image's entrypoint is the actor alone.
		s.Entrypoint, s.Command = []string{"actor", "serve"}, []string{"80", "/scratch/last"}
		s.User, s.Init, s.ReadOnly = "1234:2345", true, true
		s.StopSignal = "SIGINT"
		s.Env["app.name-x"] = "dotted"
		s.Tmpfs = []pipeline.Tmpfs{{Path: "/scratch", SizeMiB: 8}}
		s.ExtraHosts = []pipeline.ExtraHost{{Name: "mail", Address: "192.0.2.7"},
			{Name: "mail", Address: "2001:db8::7"}}
		s.Volumes = []pipeline.Volume{{Name: "shown", Path: "/shown", ReadOnly: true}}
		s.Files = []pipeline.File{{Path: "/etc/app.conf", Content: "rendered"}}
		r.start(s)
		r.expectProcess(s)
		began := time.Now()
		for _, o := range r.services(step) {
			if err := r.Remove(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		var signals, codes []string
		for _, e := range r.history(id, began) {
			switch {
			case e.Actor.Attributes["nullops.step"] != string(step):
			case e.Action == events.ActionKill:
				signals = append(signals, e.Actor.Attributes["signal"])
			case e.Action == events.ActionDie:
				codes = append(codes, e.Actor.Attributes["exitCode"])
			}
		}
		if !slices.Equal(signals, []string{"2"}) || !slices.Equal(codes, []string{"0"}) {
			t.Errorf("%s was ended by the signals %v with code %v", step, signals, codes)
		}
	}
}

func (r *rig) expectProcess(s agent.ServiceSpec) {
	r.t.Helper()
	var process struct {
		UID  int      `json:"uid"`
		Args []string `json:"args"`
	}
	look := r.get(s.Deployment, s.Step, "/look")
	if err := json.Unmarshal([]byte(look), &process); err != nil {
		r.t.Fatalf("%v: %s", err, look)
	}
	if process.UID != 1234 || strings.Join(process.Args, " ") != "actor serve 80 /scratch/last" {
		r.t.Errorf("%s runs as %d: %q", s.Step, process.UID, process.Args)
	}
	for path, want := range map[string]string{
		"/proc/1/comm": "docker-init", "/etc/hosts": "192.0.2.7\tmail\n2001:db8::7\tmail",
		"/etc/app.conf": "rendered", "/proc/mounts": "size=8192k",
	} {
		if got := r.get(s.Deployment, s.Step, "/file?path="+path); !strings.Contains(got, want) {
			r.t.Errorf("%s of %s has no %q: %s", path, s.Step, want, got)
		}
	}
	if got := r.get(s.Deployment, s.Step, "/env?name=app.name-x"); got != "dotted" {
		r.t.Errorf("the variable with a dot is %q", got)
	}
	mounts := r.get(s.Deployment, s.Step, "/file?path=/proc/mounts")
	for _, want := range []string{` / \S+ ro,`, ` /shown \S+ ro,`, ` /scratch tmpfs rw,`} {
		if !regexp.MustCompile(want).MatchString(mounts) {
			r.t.Errorf("%s has no mount%s: %s", s.Step, want, mounts)
		}
	}
}

// A service's own grace period counts wherever it gets its stop signal, not the node's: neither a
// long one nor that of a node that kills at once.
func TestStop_ServiceHasItsOwnGrace(t *testing.T) {
	testpart.Rotate(t)
	for _, grace := range []time.Duration{5 * time.Minute, -1} {
		expectOwnGrace(t, grace)
	}
}

func expectOwnGrace(t *testing.T, node time.Duration) {
	t.Helper()
	r := newRig(t)
	r.Docker = r.openWith(func(c *docker.Config) { c.StopGrace = node })
	id := r.deployment()
	s := r.service(id, "deaf")
	s.Command, s.Ready, s.StopGrace = []string{"stubborn"}, nil, time.Second
	for how, end := range map[string]func() error{
		"stopped": func() error {
			_, err := r.StopService(t.Context(), id, s.Step)
			return err
		},
		"removed": func() error { return r.Remove(t.Context(), r.services(s.Step)[0]) },
		"removed with its deployment": func() error {
			_, err := r.RemoveDeployment(t.Context(), id)
			return err
		},
	} {
		if err := r.Prepare(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		r.start(s)
		r.awaitLog(s, "ignoring SIGTERM")
		began := time.Now()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Second || took > time.Minute {
			t.Errorf("with %s of the node, it was %s after %s", node, how, took)
		}
	}
}

// A volume that services share is one volume: what one writes, the others see. It
// outlives each of them, is read and written as one, and goes with the deployment.
func TestService_VolumesAreShared(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	id := r.deployment()
	maker, reader := r.service(id, "maker"), r.service(id, "reader")
	maker.Command = []string{"serve", "80", "/out/last"}
	maker.Volumes = []pipeline.Volume{{Name: "out", Path: "/out", Shared: "site"},
		{Name: "site", Path: "/own"}}
	reader.Volumes = []pipeline.Volume{{Name: "in", Path: "/in", Shared: "site", ReadOnly: true}}
	r.start(maker)
	r.start(reader)
	for _, o := range r.services("maker") {
		if err := r.Remove(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	const said = "told to end\n"
	if got := r.get(id, "reader", "/file?path=/in/last"); got != said {
		t.Errorf("the reader sees %q", got)
	}
	if n := r.kinds(agent.KindVolume); n != 2 {
		t.Errorf("there are %d volumes instead of the shared one and the maker's", n)
	}
	other := r.deployment()
	content, err := r.ReadVolume(t.Context(), agent.VolumeName{Deployment: id, Name: "site"})
	if err != nil {
		t.Fatal(err)
	}
	err = r.WriteVolume(t.Context(), agent.VolumeName{Deployment: other, Name: "site"}, content)
	if err = errors.Join(err, content.Close()); err != nil {
		t.Fatal(err)
	}
	reader.Deployment = other
	r.start(reader)
	if got := r.get(other, "reader", "/file?path=/in/last"); got != said {
		t.Errorf("the copy holds %q", got)
	}
	r.replacesInPlace(id, other)
	for _, deployment := range []string{id, other} {
		if left, err := r.RemoveDeployment(t.Context(), deployment); err != nil {
			t.Errorf("left %v: %v", left, err)
		}
	}
	if n := r.kinds(agent.KindVolume); n != 0 {
		t.Errorf("%d volumes are left", n)
	}
}

// replacesInPlace replaces a volume of a deployment that has containers: not while one runs, and
// the stopped ones do not keep what it held.
func (r *rig) replacesInPlace(from, to string) {
	r.t.Helper()
	name := agent.VolumeName{Deployment: to, Name: "site"}
	replace := func() error {
		content, err := r.ReadVolume(r.t.Context(), agent.VolumeName{Deployment: from, Name: "site"})
		if err != nil {
			return err
		}
		return errors.Join(r.WriteVolume(r.t.Context(), name, content), content.Close())
	}
	if err := replace(); err == nil || !strings.Contains(err.Error(), "runs") {
		r.t.Errorf("a volume in use was replaced: %v", err)
	}
	s := r.service(to, "reader")
	s.Volumes = []pipeline.Volume{{Name: "in", Path: "/in", Shared: "site", ReadOnly: true}}
	if _, err := r.StopService(r.t.Context(), to, "reader"); err != nil {
		r.t.Fatal(err)
	}
	if err := replace(); err != nil {
		r.t.Fatal(err)
	}
	r.start(s)
	if got := r.get(to, "reader", "/file?path=/in/last"); got != "told to end\n" {
		r.t.Errorf("replaced, the volume holds %q", got)
	}
}

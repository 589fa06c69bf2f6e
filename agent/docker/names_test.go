package docker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// longestKey is the longest that a step may have.
var longestKey = pipeline.StepKey(strings.Repeat("database", pipeline.MaxKey/8))

// A server that looks up its clients gets an answer, whatever the step is called:
// Docker's resolver never answers when a container's name is longer than 63.
func TestNames_ReverseDNSAnswers(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{uuid.NewString(), strings.Repeat("d", 63)} {
		if err := r.Prepare(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		r.start(r.service(id, "front"))
		r.start(r.service(id, longestKey))
		r.expectReverse(id, longestKey)
		r.expectReverse(id, pipeline.StepKey(findRelay(t, r.Docker, id).Name))
	}
}

// expectReverse resolves a name to an address and back, in a service beside it.
func (r *rig) expectReverse(deployment string, of pipeline.StepKey) {
	r.t.Helper()
	got := r.get(deployment, "front", "/ptr?of="+string(of))
	var ms int
	var name string
	_, err := fmt.Sscanf(got, "%d [%s", &ms, &name)
	if err != nil || ms > 2000 || !strings.HasSuffix(got, "<nil>") || len(name) < 10 {
		r.t.Errorf("the reverse look-up of %s gives %q, %v", of, got, err)
	}
}

// oldName is what earlier releases called a container.
func (r *rig) oldName(deployment string, parts ...string) string {
	sum := sha256.Sum256([]byte(r.install))
	return strings.Join(append([]string{"nullops", hex.EncodeToString(sum[:4]), deployment},
		parts...), "-")
}

// makeOld gives a container the name that an earlier release gave it.
func (r *rig) makeOld(o agent.Object, parts ...string) {
	r.t.Helper()
	_, err := r.api.ContainerRename(r.t.Context(), o.ID,
		client.ContainerRenameOptions{NewName: r.oldName(o.Deployment, parts...)})
	if err != nil {
		r.t.Fatal(err)
	}
}

// A service that an earlier release started is found by everything that asks for
// it, and a retry keeps it: a second container would answer to the same name.
func TestNames_ServiceOfAnEarlierRelease(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, longestKey)
	r.start(s)
	old := r.find(agent.KindService)
	r.makeOld(old, "service", string(s.Step))
	if p, err := r.Probe(t.Context(), s); err != nil || p.Health != "healthy" {
		t.Errorf("its probe: %+v, %v", p, err)
	}
	v, err := r.Vitals(t.Context(), []agent.ServiceSpec{s})
	if err != nil || v.Services[0].Health == "stopped" {
		t.Errorf("its vitals: %+v, %v", v.Services, err)
	}
	inside, err := r.ExecInService(t.Context(), id, s.Step)
	if err != nil {
		t.Errorf("inside: %v", err)
	} else if err := inside.Close(); err != nil {
		t.Error(err)
	}
	log, err := r.Logs(t.Context(), id, s.Step, agent.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(log); err != nil || !strings.Contains(string(text), "serving on 80") {
		t.Errorf("its log: %q, %v", text, err)
	}
	_ = log.Close()
	if ran, err := r.StopService(t.Context(), id, s.Step); !ran || err != nil {
		t.Errorf("stopped: %t, %v", ran, err)
	}
	if got := r.find(agent.KindService); got.Name != r.oldName(id, "service", string(s.Step)) {
		t.Errorf("an agent that may still be replaced renamed it to %s", got.Name)
	}
	r.start(s)
	got := r.find(agent.KindService)
	if got.ID != old.ID || len(got.Name) > 63 {
		t.Errorf("started again, %+v became %+v", old, got)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindService)
}

// A change replaces a service of an earlier release, and a name that both have
// is the newer one's.
func TestNames_ServiceOfAnEarlierReleaseIsReplaced(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	r.start(s)
	old := r.find(agent.KindService)
	r.makeOld(old, "service", "web")
	s.Env = map[string]string{"WHO": "another"}
	r.start(s)
	if got := r.find(agent.KindService); got.ID == old.ID || r.get(id, "web", "/env?name=WHO") !=
		"another" {
		t.Errorf("%+v stayed: %+v", old, got)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindService)
}

// A running service gets its new name without being started again, and reverse
// DNS follows.
func TestNames_RunningServiceIsRenamed(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "front"))
	s := r.service(id, "web")
	r.start(s)
	all, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Step == "web" {
			r.makeOld(o, "service", "web")
		}
	}
	d := r.openWith(func(c *docker.Config) { c.RenameAfter = time.Nanosecond })
	defer func() { _ = d.Close() }()
	if p, err := d.Probe(t.Context(), s); err != nil || p.Health != "healthy" {
		t.Errorf("its probe: %+v, %v", p, err)
	}
	all, err = r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if len(o.Name) > 63 && o.Kind == agent.KindService {
			t.Errorf("%s was not renamed", o.Name)
		}
	}
	r.expectReverse(id, "web")
}

// A plugin that an earlier release made does not run beside its successor.
func TestNames_PluginOfAnEarlierRelease(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	p := r.plugin(id, longestKey)
	if err := r.CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	old := r.find(agent.KindPlugin)
	r.makeOld(old, "plugin", p.Action, string(p.Step))
	if err := r.open().CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := r.find(agent.KindPlugin); got.ID == old.ID || len(got.Name) > 63 {
		t.Errorf("%+v became %+v", old, got)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindPlugin)
}

// Two services whose keys and volumes read the same when they are joined have a
// volume each. One that is there under the joined name stays with its data.
func TestNames_VolumesAreApart(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	first, second := r.service(id, "a"), r.service(id, "a-b")
	first.Volumes = []pipeline.Volume{{Name: "b-c", Path: "/data"}}
	second.Volumes = []pipeline.Volume{{Name: "c", Path: "/data"}}
	joined := r.oldName(id, "volume", "a-b-c")
	_, err := r.api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: joined,
		Labels: map[string]string{"nullops.install": r.install, "nullops.deployment": id,
			"nullops.kind": "volume", "nullops.step": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	r.start(first)
	r.start(second)
	sources := map[string]string{}
	all, err := r.api.ContainerList(t.Context(), client.ContainerListOptions{
		Filters: make(client.Filters).Add("label", "nullops.deployment="+id)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Items {
		for _, m := range c.Mounts {
			if m.Destination == "/data" {
				sources[c.Labels["nullops.step"]] = m.Name
			}
		}
	}
	if sources["a"] != joined || sources["a-b"] == "" || sources["a-b"] == joined {
		t.Errorf("the volumes are %v", sources)
	}
	before := r.kinds(agent.KindVolume)
	r.start(first)
	r.start(second)
	if after := r.kinds(agent.KindVolume); before != 2 || after != 2 {
		t.Errorf("%d volumes became %d", before, after)
	}
}

func (r *rig) kinds(kind agent.ObjectKind) (n int) {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Kind == kind {
			n++
		}
	}
	return n
}

// A service may be called what our own containers call themselves: its name leads to it alone.
func TestNames_ServiceNamedLikeOurs(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "front"))
	r.start(r.service(id, "relay"))
	for range 20 {
		if got := r.get(id, "front", "/ptr?of=relay"); !strings.Contains(got, "service-relay") {
			t.Fatalf("relay is %s", got)
		}
	}
}

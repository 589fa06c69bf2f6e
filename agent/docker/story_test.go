package docker_test

import (
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// The runtime's main job: a network and a relay, a service that is reached through it, a plugin
// with a response, and nothing left afterwards.
func TestDeployment_RunsAndGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	if got := r.get(id, "web", "/"); got != "hello from web of "+id {
		t.Errorf("web says %q", got)
	}
	p := r.plugin(id, "seed")
	if err := r.CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	box := r.find(agent.KindPlugin)
	top, err := r.api.ContainerTop(t.Context(), box.ID, client.ContainerTopOptions{})
	// promise: P-01
	if err != nil || len(top.Processes) != 1 || !box.Waiting || !box.Running ||
		!strings.Contains(strings.Join(top.Processes[0], " "), "/.nullops/init sandbox -- ") {
		t.Errorf("a plugin that was prepared ahead is %+v: %v, %v", box, top.Processes, err)
	}
	var lines []string
	// promise: N-060
	// promise: N-064
	result, err := r.RunPlugin(t.Context(), p, []byte(`{"action":"create"}`),
		func(text string) { lines = append(lines, text) })
	if err != nil {
		t.Fatal(err)
	}
	if string(result.Stdout) != `{"action":"create"}` || result.ExitCode != 0 {
		t.Errorf("plugin answered %q, exit code %d", result.Stdout, result.ExitCode)
	}
	if strings.Join(lines, "|") != "echoing 19 bytes" || result.Lines != 1 || result.Bytes != 17 {
		t.Errorf("plugin logged %q (%d lines, %d bytes)", lines, result.Lines, result.Bytes)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork, agent.KindService)
	for range 2 { // Removing twice is removing once.
		left, err := r.RemoveDeployment(t.Context(), id)
		if err != nil || len(left) > 0 {
			t.Errorf("remove: left %v, error %v", left, err)
		}
	}
	// promise: N-062
	r.expectKinds()
}

// expectKinds compares the kinds of all objects with a sorted list.
func (r *rig) expectKinds(want ...agent.ObjectKind) {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	count := map[agent.ObjectKind]int{}
	for _, o := range all {
		count[o.Kind]++
	}
	for _, kind := range want {
		count[kind]--
	}
	for kind, n := range count {
		if n != 0 {
			r.t.Errorf("%+d objects of kind %s: %v", n, kind, all)
		}
	}
}

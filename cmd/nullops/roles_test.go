package main_test

import (
	"slices"
	"strings"
	"testing"
)

// executors are what it takes to execute a step: the agent, its decisions, and what
// speaks to a container engine or starts processes.
var executors = []string{ownModule + "/agent", ownModule + "/agent/engine",
	ownModule + "/agent/docker", ownModule + "/agent/dummy", "github.com/moby/moby", "os/exec"}

// The server decides and remembers. No package of it imports what could execute a
// step of a pipeline, directly or through another package of ours.
func TestArrows_ServerExecutesNothing(t *testing.T) {
	reached := collectImports(t, "controlplane")
	for imported, by := range reached {
		for _, executor := range executors {
			library := !strings.HasPrefix(executor, ownModule)
			// promise: B-03
			if imported == executor || library && strings.HasPrefix(imported, executor+"/") {
				t.Errorf("%s imports %s: only agents execute steps", by, imported)
			}
		}
	}
	agents := collectImports(t, "agent/docker")
	if reached[ownModule+"/agent/wire"] == "" || agents["github.com/moby/moby/client"] == "" {
		t.Error("the search finds nothing")
	}
}

// User commands speak to the API, and to nothing else of NullOps: what they can do, another program
// can do too. Neither they nor a package that they import knows an agent or a use case of the
// control plane. Only the kit for authors of plugins runs plugins itself, without a control plane.
func TestArrows_UserCommandsSpeakToTheAPI(t *testing.T) {
	const commands = "cmd/nullops/internal/cli"
	arrows := readArrows(t)
	if kit := arrows.reach(commands + "/pluginkit"); !kit["agent/docker"] {
		t.Error("the search finds nothing")
	}
	reached := arrows.reach(commands)
	if !reached["controlplane/apiclient"] || reached["*"] {
		t.Errorf("%s reaches %v", commands, reached)
	}
	for name := range reached {
		part, _, _ := strings.Cut(name, "/")
		if name != "controlplane/apiclient" && part != "pipeline" && part != "internal" &&
			!slices.Contains([]string{commands + "/output", "cmd/nullops/internal/exit",
				"cmd/nullops/internal/pin"}, name) {
			t.Errorf("user commands reach %s, not only the API", name)
		}
	}
}

// collectImports maps each import of a folder's packages, and of those of ours that
// they import, to one package that has it. Tests do not count, and neither does
// what the helper in a container does: the server shares the helper's frames only.
func collectImports(t *testing.T, folder string) map[string]string {
	t.Helper()
	imports := map[string][]string{}
	for _, file := range goFiles(t) {
		if file.test || file.dir == "agent/sidecar" {
			continue
		}
		for _, spec := range file.syntax.Imports {
			imports[file.dir] = append(imports[file.dir], strings.Trim(spec.Path.Value, `"`))
		}
	}
	found, todo := map[string]string{}, []string{}
	for dir := range imports {
		helper := strings.HasSuffix(dir, "test")
		if !helper && (dir == folder || strings.HasPrefix(dir, folder+"/")) {
			todo = append(todo, dir)
		}
	}
	for done := map[string]bool{}; len(todo) > 0; todo = todo[1:] {
		if done[todo[0]] {
			continue
		}
		done[todo[0]] = true
		for _, imported := range imports[todo[0]] {
			found[imported] = todo[0]
			if own, ok := strings.CutPrefix(imported, ownModule+"/"); ok {
				todo = append(todo, own)
			}
		}
	}
	return found
}

// The three roles meet in two contracts and nowhere else. The server and the agent
// share the wire, which the agent owns; code that orders work uses the client that is
// generated from the server's HTTP contract. So each role can be replaced by
// another program that speaks its API.
func TestArrows_EachRoleHasAnAPI(t *testing.T) {
	ofAgent := func(imported string) bool { return strings.HasPrefix(imported, ownModule+"/agent") }
	ofServer := func(imported string) bool {
		return strings.HasPrefix(imported, ownModule+"/controlplane")
	}
	for _, c := range []struct {
		role    string
		foreign func(imported string) bool
		api     []string
	}{
		{"controlplane", ofAgent, []string{"agent/sidecar", "agent/wire"}},
		{"agent", ofServer, nil},
		{"controlplane/apiclient", func(imported string) bool {
			return ofAgent(imported) ||
				ofServer(imported) && imported != ownModule+"/controlplane/apiclient"
		}, nil},
	} {
		var met []string
		for imported := range collectImports(t, c.role) {
			if c.foreign(imported) {
				met = append(met, strings.TrimPrefix(imported, ownModule+"/"))
			}
		}
		slices.Sort(met)
		// promise: B-05
		if !slices.Equal(met, c.api) {
			t.Errorf("%s meets the other roles in %v, wanted %v", c.role, met, c.api)
		}
	}
}

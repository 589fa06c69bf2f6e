package main_test

import (
	"slices"
	"strings"
	"testing"
)

// domains are the packages that know what NullOps does.
var domains = []string{"accounts", "catalog", "certificates", "gate", "keyring", "lifecycle",
	"logbook", "nodes", "notify", "reach", "review", "usage"}

// One program has the API and everything that serves people; its logic is in packages below the
// API. The helper beside it travels inside it.
func TestProgram_IsOneWithDomainsBehindIt(t *testing.T) {
	var programs []string
	serves := map[string]bool{}
	for _, file := range goFiles(t) {
		for _, spec := range file.syntax.Imports {
			if file.dir == "cmd/nullops/internal/server" && !file.test {
				serves[strings.Trim(spec.Path.Value, `"`)] = true
			}
		}
		if !file.test && file.syntax.Name.Name == "main" && !slices.Contains(programs, file.dir) &&
			!isBeside(file.dir) {
			programs = append(programs, file.dir)
		}
	}
	slices.Sort(programs)
	// promise: G-02
	// promise: Y-01
	if !slices.Equal(programs, []string{"cmd/nullops", "cmd/sidecar"}) {
		t.Errorf("what is deployed are %v", programs)
	}
	arrows := readArrows(t)
	const api = "controlplane/api"
	behind := arrows.reach(api)
	for _, name := range domains {
		if name = "controlplane/" + name; !behind[name] || arrows.reach(name)[api] {
			t.Errorf("%s is not behind the API", name)
		}
	}
	if !serves[ownModule+"/"+api] || !serves[ownModule+"/ui"] {
		t.Error("the program does not serve the API and the UI")
	}
}

// isBeside reports whether a program is no part of the product: plugins, examples, our own
// tools and the servers of tests.
func isBeside(dir string) bool {
	return slices.ContainsFunc([]string{"plugins/", "deploy/examples/", "tools/", "ui/",
		"internal/servertest/"},
		func(folder string) bool { return strings.HasPrefix(dir, folder) })
}

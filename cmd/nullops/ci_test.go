package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CI breaks an installation for three minutes, with a seed of its own: none is given. What that
// finds is shown with how to do it again, and fails the run if that seed finds something twice; a
// run that was killed is cleaned up.
func TestCI_RunsChaosWithAFreshSeed(t *testing.T) {
	text, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(text), "\nrun_chaos() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	// promise: R-02
	if !found || !strings.Contains(string(text), "\nstep run_chaos\n") {
		t.Fatal(".ci/run has no step run_chaos")
	}
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(".cache/empty", "")
	write("ci", "set -euo pipefail\nrun_chaos() {\n"+body+"\n}\nif ! run_chaos; then exit 1; fi\n")
	write("tools/chaos.sh", "#!/bin/sh\necho \"$@\" >>calls\n")
	runStep := func(code string) (said string, err error) {
		write("calls", "")
		write("tools/run", "#!/bin/sh\necho \"$@\" >>calls\n"+
			"echo 'chaos    0.0 s  seed 4711'\nexit "+code)
		c := exec.CommandContext(t.Context(), "bash", "ci")
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if said, err := runStep("0"); err != nil {
		t.Errorf("a run that was well: %v: %s", err, said)
	}
	once, again := "services -- tools/chaos.sh 3\n--sweep\n",
		"services -- tools/chaos.sh 3 4711\n--sweep\n"
	expectCalls := func(want string) {
		t.Helper()
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		// promise: R-02
		if err != nil || string(calls) != want {
			t.Errorf("it calls %q, %v; wanted %q", calls, err, want)
		}
	}
	expectCalls(once)
	// promise: R-02
	if said, err := runStep("1"); err == nil ||
		!strings.Contains(said, "make chaos MINUTES=3 SEED=4711") {
		t.Errorf("a run that found something: %v: %s", err, said)
	}
	expectCalls(once + again)
	// The stub fails without a seed only: nothing is found again.
	if said, err := runStep("$(grep -c 4711 calls | grep -c 0)"); err != nil ||
		!strings.Contains(said, "make chaos MINUTES=3 SEED=4711") {
		t.Errorf("a run that found something once: %v: %s", err, said)
	}
	expectCalls(once + again)
}

// Without a seed, each run takes another one.
func TestChaos_TakesAFreshSeed(t *testing.T) {
	text, err := os.ReadFile("../../tools/chaos.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "\nseed=")
	line, _, _ = strings.Cut(line, "\n")
	takeSeed := func(arguments ...string) string {
		c := exec.CommandContext(t.Context(), "bash",
			append([]string{"-euc", "seed=" + line + "; echo $seed", "chaos.sh"}, arguments...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	// promise: R-02
	if one, two := takeSeed("3"), takeSeed("3"); one == two || one == "" {
		t.Errorf("two runs take the seeds %q and %q", one, two)
	}
	if given := takeSeed("3", "4711"); given != "4711" {
		t.Errorf("seed 4711 was asked for, and %q is taken", given)
	}
}

//go:build chaos

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// chaosJumps are by how much a clock is set: by more and by less than what the product takes for a
// clock that was set.
var chaosJumps = []time.Duration{-3 * time.Hour, -7 * time.Minute, 7 * time.Minute, 3 * time.Hour}

// chaosClocks are the clocks of the five machines: a control plane with the ingress, another
// control plane, the two nodes, and the database.
type chaosClocks struct {
	planes, agents [2]clock
	database       clock
	// binary is the product, built so that it follows them.
	binary string
}

func newClocks(t *testing.T) (all chaosClocks) {
	t.Helper()
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil { // the database has a user of its own
		t.Fatal(err)
	}
	for i := range all.planes {
		all.planes[i] = newClock(t, dir, fmt.Sprintf("control-plane-%d", i))
		all.agents[i] = newClock(t, dir, fmt.Sprintf("agent-%d", i))
	}
	all.database = newClock(t, dir, "database")
	all.binary = buildClocked(t)
	return all
}

// of finds the clock that a fault is about.
func (all *chaosClocks) of(f fault) clock {
	switch f.victim {
	case "clock of control plane":
		return all.planes[f.target]
	case "clock of agent":
		return all.agents[f.target]
	default:
		return all.database
	}
}

// wrap makes a program that runs another one by this clock.
func (k clock) wrap(t *testing.T, program string) (path string) {
	t.Helper()
	path = strings.TrimSuffix(k.path, ".clock") + ".sh"
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s \"$@\"\n", clockVariable, k.path, program)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// buildClocked builds the product with another time.Now: a static Go program asks the kernel
// itself, so that no library can stand between. The result is kept, since all of the standard
// library is compiled for it.
func buildClocked(t *testing.T) (binary string) {
	t.Helper()
	root, err := filepath.Abs("../../.cache/bin")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	standard := filepath.Join(strings.TrimSpace(string(runTool(t, ".", "go", "env", "GOROOT"))),
		"src", "time")
	text, err := os.ReadFile(filepath.Join(standard, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), now) != 1 {
		t.Fatalf("time.Now in %s is another one than this test knows: adapt it", standard)
	}
	changed := filepath.Join(root, "chaos-time.go")
	overlay := filepath.Join(root, "chaos-overlay.json")
	added, err := filepath.Abs("testdata/chaos_clock.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(object{"Replace": object{
		filepath.Join(standard, "time.go"): changed,
		filepath.Join(standard, "jump.go"): added}})
	if err == nil {
		err = os.WriteFile(overlay, replaced, 0o600)
	}
	if err == nil {
		err = os.WriteFile(changed, []byte(strings.Replace(string(text), now,
			now+"\tsec += jumpedSeconds()\n", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(root, "chaos-nullops")
	runTool(t, ".", "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.build=e2e", "-overlay", overlay, "-o", binary, ".")
	return binary
}

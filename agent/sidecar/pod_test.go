package sidecar_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The helper places itself, waits for what the agent delivers, and tells the same delivery from
// another one.
func TestPod_HelperPlacesItselfAndTakesTheDelivery(t *testing.T) {
	t.Parallel()
	bin, run := t.TempDir(), t.TempDir()
	place := exec.CommandContext(t.Context(), os.Args[0], "place", bin, run)
	place.Env = append(os.Environ(), asSidecar+"=1")
	ended := make(chan error, 1)
	if err := place.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- place.Wait() }()
	placed := filepath.Join(bin, "init")
	waitForFile(t, placed)
	accept := func(delivery string) int {
		t.Helper()
		c := exec.CommandContext(t.Context(), placed, "accept", run)
		c.Env, c.Stdin = place.Env, strings.NewReader(delivery)
		output, err := c.CombinedOutput()
		if strings.Contains(string(output), "hunter2") {
			t.Errorf("it prints a secret: %s", output)
		}
		if c.ProcessState == nil {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode()
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	const delivery = `{"env":{"PASSWORD":"hunter2"},"files":["content"]}`
	if code := accept(delivery); code != 0 {
		t.Errorf("the first delivery ended with %d", code)
	}
	if err := <-ended; err != nil {
		t.Errorf("after the delivery, the helper ended with %v", err)
	}
	if code := accept(delivery); code != 0 {
		t.Errorf("the same delivery ended with %d", code)
	}
	if code := accept(`{"env":{"PASSWORD":"hunter2!"},"files":["content"]}`); code != 115 {
		t.Errorf("another delivery ended with %d", code)
	}
	if code := accept("hunter2"); code == 0 || code == 115 {
		t.Errorf("an unreadable delivery ended with %d", code)
	}
	text, err := os.ReadFile(filepath.Join(run, "files", "0"))
	if err != nil || string(text) != "content" {
		t.Errorf("the file is %q: %v", text, err)
	}
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}

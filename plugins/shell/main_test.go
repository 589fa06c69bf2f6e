package main_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples(t *testing.T) {
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{"FOLDER": t.TempDir()})
}

// SIGTERM reaches the command, and the plugin answers before it ends.
func TestCreate_StopsTheCommand(t *testing.T) {
	const input = `{"action":"create","parameters":{"command":["sh","-c",
		"trap 'echo stopped >&2; kill $child; exit 3' TERM; echo up >&2; sleep 60 & child=$!; wait"]}}`
	cmd := exec.CommandContext(t.Context(), stdiotest.Build(t))
	cmd.Stdin = strings.NewReader(input)
	var out strings.Builder
	cmd.Stdout = &out
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 2)
	if _, err := log.Read(seen); err != nil || string(seen) != "up" {
		t.Fatalf("log begins with %q, %v", seen, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, 100)
	n, _ := log.Read(rest)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 ||
		!strings.Contains(out.String(), `"success":false`) {
		t.Errorf("exit code %d, answer %s, log %s", code, out.String(), rest[:n])
	}
}

// What a delete command undoes is gone, and it may come twice.
func TestDelete_RunsItsOwnCommand(t *testing.T) {
	file := t.TempDir() + "/made"
	program := stdiotest.Build(t)
	parameters := `"parameters":{"command":["touch","` + file + `"],` +
		`"delete_command":["rm","-f","` + file + `"]}`
	stdiotest.Run(t.Context(), t, program, []byte(`{"action":"create",`+parameters+`}`))
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := stdiotest.Run(t.Context(), t, program, []byte(`{"action":"delete",`+parameters+`}`))
		if _, err := os.Stat(file); err == nil || got.Code != 0 {
			t.Errorf("delete left the file, or failed: %s", got.Stdout)
		}
	}
}

package sidecar_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/sidecar"
)

const sandboxed = "NULLOPS_TEST_SANDBOX"

// inSandbox starts the helper with a shell command, as the first process of a sandbox.
func inSandbox(t *testing.T, script string) (c *exec.Cmd, stdin io.WriteCloser,
	stdout, stderr *bytes.Buffer) {
	t.Helper()
	c = exec.CommandContext(t.Context(), os.Args[0], "-test.run", "TestSandbox_Helper$")
	c.Env = append(os.Environ(), sandboxed+"="+script)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = stdout, stderr
	stdin, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, stdin, stdout, stderr
}

// TestSandbox_Helper is the helper's process.
func TestSandbox_Helper(t *testing.T) {
	script, ok := os.LookupEnv(sandboxed)
	if !ok {
		return // the other tests start it
	}
	os.Exit(sidecar.Run([]string{"sandbox", "--", "/bin/sh", "-c", script}, os.Stderr))
}

// A plugin gets exactly the input behind the go signal, and the marks say how it ended.
func TestSandbox_RunsAfterTheSignal(t *testing.T) {
	nonce := strings.Repeat("n", sidecar.SandboxNonce)
	for script, want := range map[string]struct {
		stdout, stderr string
		code           byte
	}{
		"cat; echo log >&2; exit 3": {"n-input", "log\n", 3},
		"kill -TERM $$":             {"", "", 128 + 15},
		"sleep 1 & exit 0":          {"", "", 0},
	} {
		c, stdin, stdout, stderr := inSandbox(t, script)
		_, _ = io.WriteString(stdin, nonce+"n-input")
		_ = stdin.Close()
		// The sleeping one is not in a container, so that it outlives its parent with our streams.
		c.WaitDelay = 1
		_ = c.Wait()
		end := string([]byte{sidecar.MarkEnded, want.code})
		out, errors := stdout.String(), stderr.String()
		if out != nonce+"s\x00"+want.stdout+nonce+end || errors != want.stderr+nonce+end {
			t.Errorf("%s: stdout %q, stderr %q", script, out, errors)
		}
		if c.ProcessState.ExitCode() != int(want.code) {
			t.Errorf("%s ended with %d", script, c.ProcessState.ExitCode())
		}
	}
}

// When the agent dies, stdin ends, and nothing of the image has run.
func TestSandbox_EndsWithoutTheSignal(t *testing.T) {
	c, stdin, stdout, _ := inSandbox(t, "echo ran")
	_, _ = io.WriteString(stdin, strings.Repeat("n", sidecar.SandboxNonce-1))
	_ = stdin.Close()
	if _ = c.Wait(); stdout.Len() > 0 || c.ProcessState.ExitCode() != 116 {
		t.Errorf("wrote %q, exit code %d", stdout, c.ProcessState.ExitCode())
	}
}

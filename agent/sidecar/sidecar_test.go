package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/sidecar"
)

// startRelay runs a relay for the length of a test, below a path that is too long for the address
// of a unix socket.
func startRelay(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 20))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sidecar.ServeRelay(ctx, filepath.Join(short, "s"), "") }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("relay: %v", err)
		}
	})
	// Its socket is there a moment before it listens.
	for {
		c, err := net.Dial("unix", filepath.Join(short, "s"))
		if err == nil {
			_ = c.Close()
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the relay does not listen")
		}
	}
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "s")
}

// The relay says why it could not connect.
func TestDial_Reasons(t *testing.T) {
	socket := startRelay(t)
	for target, want := range map[string]sidecar.Code{
		"127.0.0.1": sidecar.CodeBadTarget, "localhost": sidecar.CodeBadTarget,
		"a.b": sidecar.CodeBadTarget, "": sidecar.CodeBadTarget, "[::1]": sidecar.CodeBadTarget,
	} {
		_, err := sidecar.Dial(t.Context(), socket, target, 80)
		var answer *sidecar.DialError
		if !errors.As(err, &answer) || answer.Code != want {
			t.Errorf("%q: %v", target, err)
		}
	}
	_, err := sidecar.Dial(t.Context(), socket+"-none", "web", 80)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no relay: %v", err)
	}
}

// A relay that never answers does not hold a caller beyond its deadline.
func TestDial_SilentRelay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip("path too long here")
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = sidecar.Dial(ctx, path, "web", 80)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

// Garbage on the socket is answered by hanging up, and the relay lives on.
func TestServe_Garbage(t *testing.T) {
	socket := startRelay(t)
	for _, garbage := range []string{"\x00\x01", "{", strings.Repeat("a", 4096), "[1,2]\n"} {
		dir, err := os.Open(filepath.Dir(socket))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("unix", "/proc/self/fd/"+formatFD(dir.Fd())+"/s")
		_ = dir.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, garbage)
		_ = conn.(*net.UnixConn).CloseWrite()
		if answer, _ := io.ReadAll(conn); len(answer) > 0 {
			t.Errorf("%q was answered with %q", garbage, answer)
		}
		_ = conn.Close()
	}
	var answer *sidecar.DialError
	if _, err := sidecar.Dial(t.Context(), socket, "localhost", 1); !errors.As(err, &answer) {
		t.Errorf("afterwards: %v", err)
	}
}

func formatFD(n uintptr) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return formatFD(n/10) + formatFD(n%10)
}

// Secrets replace variables of the same name and leave the others.
func TestEnvironment(t *testing.T) {
	got := sidecar.Environment([]string{"A=1", "B=2", "AB=3"}, map[string]string{"A": "x=y\nz"})
	slices.Sort(got)
	if strings.Join(got, "|") != "A=x=y\nz|AB=3|B=2" {
		t.Errorf("environment is %q", got)
	}
}

// A command is found as the engine would find it.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/nonexistent:" + dir}
	if got, err := sidecar.LookPath("tool", env); err != nil || got != dir+"/tool" {
		t.Errorf("tool is %q, error %v", got, err)
	}
	if got, err := sidecar.LookPath("./x/tool", env); err != nil || got != "./x/tool" {
		t.Errorf("a path is %q, error %v", got, err)
	}
	for _, name := range []string{"text", "nothing"} {
		if _, err := sidecar.LookPath(name, env); err == nil {
			t.Errorf("%s was found", name)
		}
	}
}

// The real binary: the environment reaches the command, and no failure
// repeats a secret.
func TestInit(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "sidecar")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/sidecar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kept := t.TempDir()
	good := filepath.Join(t.TempDir(), "env.json")
	bad := filepath.Join(t.TempDir(), "bad.json")
	for path, text := range map[string]string{good: `{"TOKEN":"hush"}`, bad: `{"TOKEN":"hush"`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args []string
		code int
		out  string
	}{
		"exec":       {[]string{"init", good, "--", "sh", "-c", "echo $TOKEN"}, 0, "hush\n"},
		"exit code":  {[]string{"init", good, "--", "sh", "-c", "exit 5"}, 5, ""},
		"no command": {[]string{"init", good, "--", "no-such-command"}, 127, ""},
		"not JSON":   {[]string{"init", bad, "--", "sh"}, 122, ""},
		"by hand":    {[]string{"init"}, 120, ""},
		"check": {[]string{"check", good, kept, "--", "sh", "-c", "echo $TOKEN; exit 3"}, 3,
			""},
		"check killed": {[]string{"check", good, t.TempDir(), "--", "sh", "-c", "kill -9 $$"},
			137, ""},
		"check without a folder": {[]string{"check", good, kept + "/no", "--", "sh", "-c",
			"echo $TOKEN"}, 0, ""},
		"check without secrets": {[]string{"check", kept + "/no", kept, "--", "sh"}, 122, ""},
		"no check yet":          {[]string{"check-output", t.TempDir()}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			command := exec.CommandContext(t.Context(), binary, c.args...)
			command.Stdout, command.Stderr = &stdout, &stderr
			err := command.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if command.ProcessState.ExitCode() != c.code || stdout.String() != c.out {
				t.Errorf("exit code %d, output %q, %q",
					command.ProcessState.ExitCode(), stdout.String(), stderr.String())
			}
			if strings.Contains(stderr.String(), "hush") {
				t.Errorf("the secret is in %q", stderr.String())
			}
		})
	}
	out, err := exec.CommandContext(t.Context(), binary, "check-output", kept).Output()
	if err != nil || string(out) != "hush\n" {
		t.Errorf("the check printed %q, %v", out, err)
	}
}

// A container that was started before its turn runs nothing until then. Its file is the signal:
// also if the agent dies right after it wrote the file, and not without it.
func TestInit_AwaitsItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		send []byte
		code int
		out  string
	}{
		"at its turn":              {"{}", []byte{sidecar.TurnHello, sidecar.TurnGo}, 0, "ran\n"},
		"the agent dies behind it": {"{}", []byte{sidecar.TurnHello}, 0, "ran\n"},
		"the agent dies before it": {"", []byte{sidecar.TurnHello}, 116, ""},
		"nobody's turn":            {"", []byte{sidecar.TurnHello, sidecar.TurnGo}, 116, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := filepath.Join(t.TempDir(), "env.json")
			pipe := filepath.Join(filepath.Dir(env), sidecar.TurnFile)
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "TestInit_Helper$")
			command.Env = append(os.Environ(), waitsFor+"="+env)
			output := filepath.Join(t.TempDir(), "output")
			stdout, err := os.Create(output)
			if err != nil {
				t.Fatal(err)
			}
			defer stdout.Close()
			command.Stdout = stdout
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			// This open waits for the init's.
			turn, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = turn.Write(c.send[:1])
			if c.file != "" {
				if err := os.WriteFile(env, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if said, err := os.ReadFile(output); len(said) > 0 || err != nil {
				t.Errorf("it ran before its turn: %q, %v", said, err)
			}
			_, _ = turn.Write(c.send[1:])
			_ = turn.Close()
			_ = command.Wait()
			said, err := os.ReadFile(output)
			if command.ProcessState.ExitCode() != c.code || string(said) != c.out || err != nil {
				t.Errorf("exit code %d, output %q, %v", command.ProcessState.ExitCode(), said, err)
			}
		})
	}
}

// A pipe that an agent left behind keeps nothing waiting once the turn has come.
func TestInit_TurnHasPassed(t *testing.T) {
	env := filepath.Join(t.TempDir(), "env.json")
	if err := errors.Join(os.WriteFile(env, []byte("{}"), 0o600),
		syscall.Mkfifo(filepath.Join(filepath.Dir(env), sidecar.TurnFile), 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "-test.run", "TestInit_Helper$")
	command.Env = append(os.Environ(), waitsFor+"="+env)
	if out, err := command.Output(); err != nil || string(out) != "ran\n" {
		t.Errorf("output %q, %v", out, err)
	}
}

const waitsFor = "NULLOPS_TEST_TURN"

// TestInit_Helper is the init's process.
func TestInit_Helper(t *testing.T) {
	env, ok := os.LookupEnv(waitsFor)
	if !ok {
		return // the other test starts it
	}
	os.Exit(sidecar.Run([]string{"init", env, "--", "/bin/sh", "-c", "echo ran"}, os.Stderr))
}

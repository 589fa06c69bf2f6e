package wire_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nullops/nullops/agent/wire"
)

// shortFolder is one whose name leaves room for a socket.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nops-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What cannot be a socket of an agent is refused at both ends, in a sentence that says what to do.
func TestLocal_RefusesUnfitPaths(t *testing.T) {
	t.Parallel()
	dir := shortFolder(t)
	open, file := filepath.Join(dir, "open"), filepath.Join(dir, "file.sock")
	foreign, live := filepath.Join(dir, "foreign"), filepath.Join(dir, "live.sock")
	for _, err := range []error{os.Mkdir(open, 0o777), os.Chmod(open, 0o777),
		os.WriteFile(file, nil, 0o600), os.Mkdir(foreign, 0o755), chown(foreign)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := net.Listen("unix", live)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if os.Geteuid() != 0 {
		foreign = open // only root can give a folder away
	}
	for path, want := range map[string]string{
		filepath.Join(dir, strings.Repeat("x", 108)): "choose a folder with a shorter name",
		filepath.Join(open, "a.sock"):                "chmod go-w",
		filepath.Join(foreign, "b.sock"):             "could replace the socket",
		filepath.Join(file, "a.sock"):                "not a directory",
		file:                                         "is not a socket: remove it",
		live:                                         "another process listens",
	} {
		l, err := wire.ListenLocal(path, -1, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listen at %s: %v, wanted %q", path, err, want)
		}
		if err == nil {
			_ = l.Close()
		}
	}
	stale := filepath.Join(dir, "stale.sock")
	leaveSocket(t, stale)
	for path, want := range map[string]string{
		filepath.Join(dir, strings.Repeat("x", 108)): "choose a folder with a shorter name",
		file:  "is not a socket: remove it",
		stale: "its agent has ended",
	} {
		if _, err := wire.DialLocal(t.Context(), path); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("dial %s: %v, wanted %q", path, err, want)
		}
	}
	_, err = wire.DialLocal(t.Context(), filepath.Join(dir, "none.sock"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where nothing is: %v", err)
	}
	l, err := wire.ListenLocal(stale, -1, nil)
	if err != nil {
		t.Fatalf("a stale socket is not replaced: %v", err)
	}
	_ = l.Close()
}

func leaveSocket(t *testing.T, path string) {
	t.Helper()
	old, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
}

// stranger is a user of whom nothing is known.
const stranger = 64_123

func chown(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, stranger, stranger)
}

// Only the users that the agent names get as far as its TLS, and only an agent's user is believed.
func TestLocal_AsksWhoIsAtTheOtherEnd(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("WIRE_LOCAL_DIAL"); path != "" {
		conn, err := wire.DialLocal(context.Background(), path)
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		_, _ = os.Stdout.WriteString("said: " + err.Error() + "\n")
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can run a process of another user")
	}
	dir := shortFolder(t)
	for user, want := range map[int]string{-1: "start its agent with agent.ingress=64123",
		stranger: "said: EOF"} {
		path := filepath.Join(dir, "a.sock")
		l, err := wire.ListenLocal(path, user, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				_ = c.Close()
			}
		}()
		if out := dialAs(t, path); !strings.Contains(out, want) {
			t.Errorf("user %d with agent.ingress=%d: %s", stranger, user, out)
		}
		// With rights to the file alone it is refused all the same.
		if user < 0 {
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
			if out := dialAs(t, path); !strings.Contains(out, "said: EOF") &&
				!strings.Contains(out, "reset") {
				t.Errorf("without agent.ingress, by the file's mode: %s", out)
			}
			if c, err := wire.DialLocal(t.Context(), path); err != nil {
				t.Errorf("the listener took the stranger's connection: %v", err)
			} else {
				_ = c.Close()
			}
		}
		_ = l.Close()
	}
}

// A process of the folder's owner is believed at the other end of a socket, and one of somebody
// else is not, however the socket came there.
func TestLocal_BelievesTheProcessOfTheFoldersOwner(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("WIRE_LOCAL_LISTEN"); path != "" {
		if _, err := net.Listen("unix", path); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("listens\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the other end closes it
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can run a process of another user")
	}
	dir := filepath.Join(shortFolder(t), "s")
	path := filepath.Join(dir, "a.sock")
	if err := errors.Join(os.Mkdir(dir, 0o755), chown(dir)); err != nil {
		t.Fatal(err)
	}
	c := commandAs(t, filepath.Dir(dir), "WIRE_LOCAL_LISTEN="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), c.Wait() }()
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "listens"; {
		continue
	}
	conn, err := wire.DialLocal(t.Context(), path)
	if err != nil {
		t.Fatalf("the owner's process: %v", err)
	}
	_ = conn.Close()
	if err := os.Chown(dir, stranger+1, stranger+1); err != nil {
		t.Fatal(err)
	}
	conn, err = wire.DialLocal(t.Context(), path)
	if err == nil {
		_ = conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "it is no agent") {
		t.Errorf("a process of somebody else than the folder's owner: %v", err)
	}
}

// dialAs connects as another user, and returns what that process said.
func dialAs(t *testing.T, path string) string {
	t.Helper()
	out, err := commandAs(t, filepath.Dir(path), "WIRE_LOCAL_DIAL="+path).CombinedOutput()
	if err != nil {
		t.Logf("%v", err)
	}
	return string(out)
}

// commandAs runs this test again as another user, from a copy of the test's program in a folder.
func commandAs(t *testing.T, folder, variable string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(folder, "test")
	if _, err := os.Stat(binary); err != nil {
		own, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(binary, own, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), binary, "-test.run=^"+t.Name()+"$", "-test.v")
	c.Dir, c.Env = "/", append(os.Environ(), variable)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	return c
}

package stdiotest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Server is a real server of one test: loopback only, in a folder of its own,
// never as root.
type Server struct {
	// Dir belongs to the user the server runs as.
	Dir string
	// Env is added to the server's environment.
	Env []string

	t testing.TB
}

// nobody is the user that servers run as when the tests run as root: most of
// them refuse to be root.
const nobody = 65534

// maxLife ends a server whose test was killed before it could.
const maxLife = "900"

// NewServer creates a folder for a server. A test whose server is not installed is skipped, or
// fails where skips count.
func NewServer(t testing.TB, program string) *Server {
	t.Helper()
	if findProgram(program) == "" {
		const what = "%s is not installed; run tools/setup/install.sh"
		if os.Getenv("NULLOPS_TEST_STRICT") == "1" {
			t.Fatalf(what, program)
		}
		t.Skipf(what, program)
	}
	// t.TempDir is closed to other users.
	dir, err := os.MkdirTemp("", "nullops-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover in /tmp fails nobody
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return &Server{Dir: dir, t: t}
}

// findProgram looks where servers are, too: not everybody's PATH has that folder.
func findProgram(program string) string {
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Do runs a program to its end, as the server's user.
func (s *Server) Do(program string, args ...string) {
	s.t.Helper()
	cmd := s.newCommand(program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Start runs a server until the test ends and waits until ready has no error,
// for three minutes at most: RabbitMQ needs more than one on a busy machine.
func (s *Server) Start(ready func(context.Context) error, program string, args ...string) {
	s.t.Helper()
	cmd := s.newCommand(program, args...)
	log, err := os.CreateTemp(s.Dir, "server-*.log")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start %s: %v", program, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its log says more
	}()
	s.t.Cleanup(func() {
		// Nothing of it is worth a polite end.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		_ = log.Close()
	})
	if err := waitUntil(s.t.Context(), ended, ready); err != nil {
		said, _ := os.ReadFile(log.Name())
		s.t.Fatalf("%s is not ready: %v\n%s", program, err, said[:min(len(said), 4096)])
	}
}

func waitUntil(
	ctx context.Context,
	ended <-chan struct{},
	ready func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ended:
			return fmt.Errorf("it ended: %w", err)
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Server) newCommand(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "timeout",
		append([]string{"--signal=KILL", maxLife, findProgram(program)}, args...)...)
	cmd.Cancel = func() error { return nil } // the clean-up kills the whole group
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "HOME="+s.Dir, "TMPDIR="+s.Dir)
	cmd.Env = append(cmd.Env, s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// FreePort returns a port of the loopback address that nobody listened on.
func FreePort(t testing.TB) string {
	t.Helper()
	return FreePortOn(t, "127.0.0.1")
}

// AcceptsConnection is the simplest sign of readiness: the port accepts a connection.
func AcceptsConnection(port string) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

package pgtest

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/wait"
)

// Server is a PostgreSQL server of one test, which the test may kill, fill up or replace.
// All others share one.
type Server struct {
	t    testing.TB
	bin  string
	dir  string
	port int
	cmd  *exec.Cmd
	// env is what the server gets beside the test's own environment.
	env []string
	// killed lets the thread go that started cmd.
	killed chan struct{}
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB, env ...string) *Server {
	t.Helper()
	serverURL(t) // without the shared server, none of them can be started either
	s := newServer(t)
	s.env = env
	s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync")
	s.Start()
	return s
}

func newServer(t testing.TB) *Server {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		t.Fatalf("no PostgreSQL server is installed, run make setup: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// The server runs as another user, who cannot enter the test's own folder.
	dir, err := os.MkdirTemp("", "nullops-pg-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, bin: slices.Max(found), dir: dir, port: port}
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the server's folder: %v", err)
		}
	})
	if owner := s.owner(); owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// owner is nil for ordinary users. PostgreSQL refuses to run as root.
func (s *Server) owner() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, program), args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner(), Setpgid: true,
		Pdeathsig: syscall.SIGKILL}
	return c
}

func (s *Server) run(program string, args ...string) {
	s.t.Helper()
	if out, err := s.command(program, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// Start starts the server, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir}
	// What is committed survives a killed process without a flush, though not a power cut.
	for _, setting := range []string{"fsync=off", "full_page_writes=off", "max_connections=60",
		"shared_buffers=32MB", "log_min_messages=fatal", "listen_addresses=127.0.0.1",
		"max_wal_senders=2", "wal_level=replica", "wal_keep_size=64MB"} {
		args = append(args, "-c", setting)
	}
	c := s.command("postgres", args...)
	c.Env = append(os.Environ(), s.env...)
	s.launch(c)
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		if wait.Sleep(ctx, 20*time.Millisecond) != nil {
			s.t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// launch keeps the thread that starts the server until the server is killed: the kernel would
// end the server with that thread.
func (s *Server) launch(c *exec.Cmd) {
	s.t.Helper()
	started, killed := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		started <- c.Start()
		<-killed
	}()
	s.cmd, s.killed = c, killed
	if err := <-started; err != nil {
		s.t.Fatal(err)
	}
}

// Kill ends the server and all its processes at once, as kill -9 and the kernel do. Only what was
// committed is there after the next Start.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait() // killed: its error says so
	close(s.killed)
	s.cmd = nil
}

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Database makes a database with the schema of the files, and returns its URL.
func (s *Server) Database(files fs.FS) string {
	s.t.Helper()
	name := "nullops_" + randomHex(4)
	if err := execStatement(s.t.Context(), s.url("postgres"), "CREATE DATABASE "+name); err != nil {
		s.t.Fatal(err)
	}
	store, err := postgres.Open(s.t.Context(), postgres.Config{URL: s.url(name), MaxConns: 2})
	if err == nil {
		err = store.Migrate(s.t.Context(), files)
		store.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return s.url(name)
}

// Address is where the server listens.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Replicate starts an asynchronous replica, which has all that is committed by now. Once it is
// killed it misses what comes later; started again and promoted, it is what a failover leaves.
func (s *Server) Replicate() *Server {
	s.t.Helper()
	r := newServer(s.t)
	r.run("pg_basebackup", "-D", r.data(), "-R", "-X", "stream", "--no-sync", "-h", "127.0.0.1",
		"-p", strconv.Itoa(s.port), "-U", "postgres", "-c", "fast")
	r.Start()
	return r
}

// Promote makes a replica a server of its own.
func (s *Server) Promote() {
	s.t.Helper()
	s.statement("SELECT pg_promote()")
}

func (s *Server) statement(sql string) {
	s.t.Helper()
	if err := execStatement(s.t.Context(), s.url("postgres"), sql); err != nil {
		s.t.Fatal(err)
	}
}

// MoveTo keeps the data of a database in a folder from now on.
func (s *Server) MoveTo(folder, database string) {
	s.t.Helper()
	if owner := s.owner(); owner != nil {
		if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
			s.t.Fatal(err)
		}
	}
	name := "space_" + randomHex(4)
	s.statement("CREATE TABLESPACE " + name + " LOCATION '" + folder + "'")
	u, err := url.Parse(database)
	if err != nil {
		s.t.Fatal(err)
	}
	s.statement("ALTER DATABASE " + strings.TrimPrefix(u.Path, "/") + " SET TABLESPACE " + name)
}

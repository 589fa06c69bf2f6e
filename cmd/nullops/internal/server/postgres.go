package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// devPostgres runs the installed PostgreSQL server as a child of this process:
// on a unix socket only, with its data in a folder that is never deleted.
type devPostgres struct {
	bin  string
	data string
	// socket is the folder of the unix socket; its path has a length limit.
	socket string
	log    *slog.Logger
	as     *syscall.Credential
}

// maxSocketPath is what sun_path holds, less the name PostgreSQL appends.
const maxSocketPath = 107 - len("/.s.PGSQL.5432")

func newDevPostgres(s DevSettings, log *slog.Logger) (*devPostgres, error) {
	if _, err := os.Stat(filepath.Join(s.Postgres, "postgres")); err != nil {
		return nil, fmt.Errorf("setting dev.postgres: no server in %s: install postgresql-15, "+
			"or say where its binaries are", s.Postgres)
	}
	data, err := filepath.Abs(filepath.Join(s.Data, "postgres"))
	if err != nil {
		return nil, fmt.Errorf("setting dev.data: %w", err)
	}
	p := &devPostgres{bin: s.Postgres, data: data, log: log,
		socket: filepath.Join(filepath.Dir(data), "socket")}
	if len(p.socket) > maxSocketPath {
		sum := sha256.Sum256([]byte(data))
		p.socket = filepath.Join(os.TempDir(), fmt.Sprintf("nullops-%x", sum[:6]))
	}
	p.as, err = unprivilegedUser()
	return p, err
}

// unprivilegedUser is the user the server runs as: PostgreSQL refuses to run as root.
func unprivilegedUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.New("PostgreSQL cannot run as root, and there is no user postgres: " +
			"install postgresql-15, or run as another user")
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// connString is how to connect. Only users with access to the socket's folder can
// connect, so there is no password.
func (p *devPostgres) connString() string {
	return "host=" + p.socket + " user=nullops dbname=nullops"
}

// run prepares the data folder, starts the server, calls ready once it answers,
// and stops the server when ctx ends. A server that ends by itself is an error.
func (p *devPostgres) run(ctx context.Context, ready func()) error {
	if err := p.prepareData(ctx); err != nil {
		return err
	}
	server := p.serverCommand(filepath.Join(p.bin, "postgres"), "-D", p.data, "-k", p.socket,
		"-c", "listen_addresses=", "-c", "logging_collector=off")
	ended := make(chan error, 1)
	started := make(chan error, 1)
	go runOnOwnThread(server, started, ended)
	if err := <-started; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := p.awaitAnswer(ctx, ended); err != nil {
		return errors.Join(err, stopServer(server, ended))
	}
	p.log.InfoContext(ctx, "PostgreSQL answers", "folder", p.data)
	ready()
	select {
	case err := <-ended:
		return fmt.Errorf("PostgreSQL ended by itself, see its lines above: %w", err)
	case <-ctx.Done():
		return stopServer(server, ended)
	}
}

// runOnOwnThread keeps the thread that started the server until it ends: the
// kernel sends the parent-death signal when that thread dies, not the process.
func runOnOwnThread(c *exec.Cmd, started, ended chan<- error) {
	runtime.LockOSThread()
	err := c.Start()
	started <- err
	if err == nil {
		ended <- c.Wait()
	}
}

// stopServer asks for a fast shutdown: clients are cut, data is safe.
func stopServer(c *exec.Cmd, ended <-chan error) error {
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-time.After(20 * time.Second):
		return errors.Join(errors.New("PostgreSQL did not stop within 20 s"), c.Process.Kill())
	}
}

// serverCommand runs a server binary as the unprivileged user, and has it end with
// this process.
func (p *devPostgres) serverCommand(path string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Dir = "/"
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT, Setpgid: true}
	if p.as != nil {
		c.SysProcAttr.Credential = p.as
		// CAP_DAC_READ_SEARCH: the checkout may be in root's own folder.
		c.SysProcAttr.AmbientCaps = []uintptr{2}
	}
	return c
}

// prepareData makes the data folder on first start, and never touches one of another
// PostgreSQL version.
func (p *devPostgres) prepareData(ctx context.Context) error {
	for _, dir := range []string{p.data, p.socket} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("prepare PostgreSQL: %w", err)
		}
		if p.as != nil {
			if err := os.Chown(dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
				return fmt.Errorf("prepare PostgreSQL: %w", err)
			}
		}
	}
	version, err := os.ReadFile(filepath.Join(p.data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return p.initdb(ctx)
	}
	if err != nil {
		return fmt.Errorf("prepare PostgreSQL: %w", err)
	}
	return p.sameVersion(ctx, strings.TrimSpace(string(version)))
}

func (p *devPostgres) initdb(ctx context.Context) error {
	p.log.InfoContext(ctx, "making a database", "folder", p.data)
	c := p.serverCommand(filepath.Join(p.bin, "initdb"), "-D", p.data, "-U", "nullops",
		"--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-instructions")
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	started, ended := make(chan error, 1), make(chan error, 1)
	go runOnOwnThread(c, started, ended)
	if err := <-started; err != nil {
		return fmt.Errorf("run initdb: %w", err)
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out.String())
	}
	return nil
}

func (p *devPostgres) sameVersion(ctx context.Context, data string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(p.bin, "postgres"), "--version").Output()
	if err != nil {
		return fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 || strings.Split(fields[2], ".")[0] != data {
		return fmt.Errorf("the data in %s is of PostgreSQL %s and the server is %s: upgrade the "+
			"data with pg_upgrade, or choose another folder with --dev.data; nothing was changed",
			p.data, data, strings.TrimSpace(string(out)))
	}
	return nil
}

// awaitAnswer waits until the server takes connections, and makes our database.
func (p *devPostgres) awaitAnswer(ctx context.Context, ended <-chan error) error {
	deadline := time.Now().Add(60 * time.Second)
	for {
		err := p.createDatabase(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-ended:
			return fmt.Errorf("PostgreSQL did not start, see its lines above: %w", e)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL does not answer after 60 s: %w", err)
		}
	}
}

func (p *devPostgres) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, "host="+p.socket+" user=nullops dbname=postgres")
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	var exists bool
	err = conn.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_database WHERE datname = 'nullops'").
		Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE nullops")
	return err
}

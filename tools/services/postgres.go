package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// fastSettings give up durability, which a database of one test run never needs,
// and allow the connections of several test packages at once.
var fastSettings = []string{
	"fsync=off",
	"synchronous_commit=off",
	"full_page_writes=off",
	"wal_level=minimal",
	"max_wal_senders=0",
	"max_connections=300",
	"shared_buffers=128MB",
	"log_min_messages=warning",
	"listen_addresses=127.0.0.1",
}

// startPostgres makes a new cluster, in memory if that is allowed and there is enough. It listens
// on loopback with trust authentication: nothing in it outlives the run or is worth stealing.
func (o options) startPostgres(ctx context.Context, g *group) ([]string, error) {
	bin, err := postgresBin(ctx)
	if err != nil {
		return nil, err
	}
	owner, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(g.dir, "postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	if !o.onDisk && hasSpareMemory() {
		if data, err = g.newMemoryDir(owner); err != nil {
			return nil, err
		}
	}
	if err := initDatabase(ctx, bin, data, owner); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-D", data, "-p", strconv.Itoa(port), "-k", dir}
	for _, setting := range fastSettings {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	cmd.Dir = dir
	c, err := g.start("postgres", syscall.SIGINT, cmd) // SIGINT: fast shutdown
	if err != nil {
		return nil, err
	}
	ready := func(ctx context.Context) error {
		_, err := runCommand(ctx, nil, filepath.Join(bin, "pg_isready"), "-q",
			"-h", "127.0.0.1", "-p", strconv.Itoa(port), "-d", "postgres", "-U", "postgres")
		return err
	}
	if err := c.wait(ctx, ready); err != nil {
		return nil, err
	}
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	return []string{"NULLOPS_TEST_POSTGRES=" + url}, nil
}

func initDatabase(ctx context.Context, bin, data string, owner *syscall.Credential) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data,
		"-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGKILL}
	cmd.Dir = filepath.Dir(data)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return nil
}

// postgresBin finds the newest installed server; Debian keeps it off the PATH.
func postgresBin(ctx context.Context) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return majorVersion(a) - majorVersion(b) })
		return filepath.Dir(found[len(found)-1]), nil
	}
	if dir, err := runCommand(ctx, nil, "pg_config", "--bindir"); err == nil {
		return strings.TrimSpace(dir), nil
	}
	return "", errors.New("no PostgreSQL server is installed: run make setup")
}

func majorVersion(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // an odd folder name sorts first
	return n
}

// serverUser is nil for ordinary users. PostgreSQL refuses to run as root, so
// root runs it as the postgres user of the Debian package.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("find the user to run PostgreSQL as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// freePort asks the kernel. Another process may take it before the server binds
// it; the server then ends at once and says so.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

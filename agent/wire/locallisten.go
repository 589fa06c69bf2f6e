package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// maxSocketPath is what Linux takes as the address of a Unix socket.
const maxSocketPath = 107

// LocalSocket is where the agent with a token listens for an ingress on its own machine.
func LocalSocket(folder, kid string) string { return filepath.Join(folder, kid+".sock") }

// checkSocketPath refuses an address that Linux would cut or refuse without a reason.
func checkSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("the path %s has %d bytes and Linux takes %d for a socket: choose a "+
			"folder with a shorter name", path, len(path), maxSocketPath)
	}
	return nil
}

// ListenLocal listens at a Unix socket for an ingress on this machine. Only processes of root, of
// this process's user and of the user named ingress (-1 is none) get as far as TLS and the proof.
// A socket that a dead process left is replaced.
func ListenLocal(path string, ingress int, log *slog.Logger) (net.Listener, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	if err := prepareFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeStaleSocket(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, fmt.Errorf("listen at the socket: %w", err)
	}
	err = os.Chmod(path, 0o600)
	if err == nil && ingress >= 0 && ingress != os.Geteuid() {
		err = os.Chown(path, ingress, -1)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the socket %s cannot be given to user %d: run the agent "+
			"as root, or as the ingress's user: %w", path, ingress, err), l.Close())
	}
	return &localListener{UnixListener: l, users: []int{0, os.Geteuid(), ingress},
		log: newRateLimitedLog(log)}, nil
}

// prepareFolder makes the folder, or refuses one in which others could replace the socket.
func prepareFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the socket: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("look at the folder of the socket: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: name one for the socket", folder)
	}
	if owner := ownerOf(info); owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("the folder %s belongs to user %d, who could replace the socket: give it to "+
			"the agent's user, or name another one", folder, owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write to the folder %s and could replace the socket: run "+
			"chmod go-w on it, or name another one", folder)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// removeStaleSocket makes room at a path, unless somebody is there.
func removeStaleSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is not a socket: remove it, or name another folder", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another process listens at %s: end it, or name another folder", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("try the socket that is there: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the socket of an agent that has ended: %w", err)
	}
	return nil
}

type localListener struct {
	*net.UnixListener
	users []int
	log   *rateLimitedLog
}

// Accept implements net.Listener. It passes connections of permitted users only.
func (l *localListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		user, err := peerUser(c)
		if err == nil && slices.Contains(l.users, user) {
			return &givingConn{UnixConn: c, remote: &net.UnixAddr{Net: "unix",
				Name: "user " + strconv.Itoa(user)}}, nil
		}
		_ = c.Close()
		l.log.warn("a process may not use the agent's socket; if it is the ingress, name its user "+
			"with agent.ingress", "user", user, "error", err)
	}
}

// peerUser is the user that the process at the other end ran as when it connected, or listened.
func peerUser(c *net.UnixConn) (user int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var who *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		who, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("ask who is at the other end: %w", err)
	}
	return int(who.Uid), nil
}

// DialLocal connects to the socket of an agent on this machine, for Dial's Connect. An error that
// is fs.ErrNotExist means that there is none.
func DialLocal(ctx context.Context, path string) (net.Conn, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket: remove it", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return nil, fmt.Errorf("user %d may not use the socket %s: start its agent with "+
			"agent.ingress=%[1]d: %[3]w", os.Geteuid(), path, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("nobody listens at the socket %s any more: its agent has ended: %w",
			path, err)
	case err != nil:
		return nil, fmt.Errorf("connect to the socket: %w", err)
	}
	local := c.(*net.UnixConn)
	if err := checkServer(local, path, ownerOf(info)); err != nil {
		_ = local.Close()
		return nil, err
	}
	return newTakingConn(local), nil
}

// checkServer refuses a process of somebody else than who the socket's folder belongs to.
func checkServer(c *net.UnixConn, path string, socketOwner int) error {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("look at the folder of the socket: %w", err)
	}
	user, err := peerUser(c)
	if err != nil {
		return err
	}
	if !slices.Contains([]int{0, os.Geteuid(), ownerOf(folder)}, user) {
		return fmt.Errorf("a process of user %d listens at %s, which is of user %d: it is no agent",
			user, path, socketOwner)
	}
	return nil
}

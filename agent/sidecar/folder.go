package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A container cannot be given another mount while it runs. An agent whose own container
// lacks the folder in memory starts a helper container that has it, and the helper hands
// the folder over as an open file.

// maxRefusal bounds the text of a helper that has no folder to hand over.
const maxRefusal = 1 << 10

// lendFolder hands the folder name below parent over to the process that listens on the socket, or
// returns the reason why it cannot.
func lendFolder(ctx context.Context, socket, parent, name string) error {
	conn, err := connectSocket(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	folder, err := openInMemory(parent, name)
	if err != nil {
		_, _ = conn.Write([]byte(err.Error()))
		return err
	}
	defer func() { _ = folder.Close() }()
	_, _, err = conn.WriteMsgUnix([]byte{0}, unix.UnixRights(int(folder.Fd())), nil)
	return err
}

// openInMemory opens the folder name below parent, and makes it if it is not there. Where
// every user may write, as in /dev/shm, the name may be somebody else's.
func openInMemory(parent, name string) (*os.File, error) {
	above, err := unix.Open(parent, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(above) }()
	folder, err := openBelow(above, name)
	if errors.Is(err, unix.ENOENT) && !isInMemory(above) {
		return nil, errors.New("it is on a disk")
	}
	if errors.Is(err, unix.ENOENT) {
		if err = unix.Mkdirat(above, name, 0o755); err == nil || errors.Is(err, unix.EEXIST) {
			folder, err = openBelow(above, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	f := os.NewFile(uintptr(folder), filepath.Join(parent, name))
	if err := checkOwnInMemory(folder, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func openBelow(above int, name string) (int, error) {
	return unix.Openat(above, name,
		unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

func checkOwnInMemory(folder int, name string) error {
	var s unix.Stat_t
	if err := unix.Fstat(folder, &s); err != nil {
		return err
	}
	switch {
	case !isInMemory(folder):
		return fmt.Errorf("%s is on a disk", name)
	case int(s.Uid) != os.Geteuid() || s.Mode&0o022 != 0:
		return fmt.Errorf("%s belongs to another user, or others may write to it", name)
	}
	return nil
}

func isInMemory(fd int) bool {
	var s unix.Statfs_t
	return unix.Fstatfs(fd, &s) == nil && (s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC)
}

// BorrowFolder receives the folder that the lend role hands over.
func BorrowFolder(conn *net.UnixConn) (*os.File, error) {
	text, rights := make([]byte, maxRefusal), make([]byte, unix.CmsgSpace(4))
	n, r, _, _, err := conn.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, err
	}
	if r == 0 {
		return nil, errors.New(string(text[:n]))
	}
	fd := parseDescriptor(rights[:r])
	if fd < 0 {
		return nil, errors.New("the helper sent no folder")
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "folder in memory")
	if !isInMemory(fd) {
		return nil, errors.Join(errors.New("the helper sent a folder that is on a disk"), f.Close())
	}
	return f, nil
}

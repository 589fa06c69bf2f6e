package sidecar

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// openTerminal makes a pseudo terminal: near is ours, far the command's.
func openTerminal(w Window) (near, far *os.File, err error) {
	near, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	var number, unlocked uint32
	err = callIoctl(near, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	if err == nil {
		err = callIoctl(near, syscall.TIOCGPTN, unsafe.Pointer(&number))
	}
	if err == nil && w.Cols > 0 && w.Rows > 0 {
		err = resizeTerminal(near, w)
	}
	if err == nil {
		far, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)),
			os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = near.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return near, far, nil
}

// resizeTerminal sets the window size of the terminal's program.
func resizeTerminal(near *os.File, w Window) error {
	size := struct{ rows, cols, x, y uint16 }{w.Rows, w.Cols, 0, 0}
	return callIoctl(near, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

func callIoctl(f *os.File, request uintptr, argument unsafe.Pointer) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	})
	if err == nil && failed != 0 {
		err = failed
	}
	return err
}

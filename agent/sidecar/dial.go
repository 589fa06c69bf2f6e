package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Code is a stable word for why a relay could not connect.
type Code string

// The codes.
const (
	CodeBadTarget Code = "bad_target"
	CodeUnknown   Code = "unknown_service"
	CodeRefused   Code = "refused"
	CodeTimeout   Code = "timeout"
	CodeFailed    Code = "failed"
	codeResolved  Code = "resolved"
)

// DialError means that the relay answered, but could not connect to the service.
type DialError struct {
	Service string
	Port    int
	Code    Code
	Message string
}

// Error says what happened in words for people.
func (e *DialError) Error() string {
	target := e.Service + ":" + strconv.Itoa(e.Port)
	switch e.Code {
	case CodeUnknown:
		return "no running service is called " + e.Service
	case CodeRefused:
		return "nothing listens on " + target
	case CodeTimeout:
		return target + " did not answer in time"
	case CodeBadTarget, CodeFailed, codeResolved:
	}
	return "dial " + target + ": " + e.Message
}

// Dial asks the relay at a socket for a connection to a service's port. An error is a *DialError if
// the relay answered; otherwise the relay itself could not be reached. The context bounds the dial,
// not the connection.
func Dial(ctx context.Context, socket, service string, port int) (net.Conn, error) {
	conn, err := connectSocket(ctx, socket)
	if err != nil {
		return nil, fmt.Errorf("reach relay: %w", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	target, err := requestConn(ctx, conn, dialRequest{Service: service, Port: port})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("dial %s:%d: %w", service, port, context.Cause(ctx))
	}
	return target, err
}

// LookupService makes the relay resolve and remember a service's address. The engine is the only
// resolver, so the relay could not look it up while the engine is down.
func LookupService(ctx context.Context, socket, service string) error {
	_, err := Dial(ctx, socket, service, lookupPort)
	var answer *DialError
	if errors.As(err, &answer) && answer.Code == codeResolved {
		return nil
	}
	return err
}

// connectSocket goes through the folder's descriptor, since the address of a unix
// socket is at most 107 bytes long and data folders may be deeper than that.
func connectSocket(ctx context.Context, socket string) (*net.UnixConn, error) {
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(socket))
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket", socket)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", name)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

func requestConn(ctx context.Context, conn *net.UnixConn, q dialRequest) (net.Conn, error) {
	timeout := defaultDial
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(time.Until(deadline), time.Millisecond)
	}
	_ = conn.SetDeadline(time.Now().Add(timeout + requestTime))
	q.Timeout = max(timeout.Milliseconds(), 1)
	if err := writeRequest(conn, q); err != nil {
		return nil, err
	}
	r, fd, err := readReply(conn)
	if err != nil {
		return nil, fmt.Errorf("relay's answer: %w", err)
	}
	if r.Code != "" {
		return nil, &DialError{Service: q.Service, Port: q.Port, Code: r.Code, Message: r.Message}
	}
	return connFromDescriptor(fd)
}

func writeRequest(conn *net.UnixConn, q dialRequest) error {
	if err := json.NewEncoder(conn).Encode(q); err != nil {
		return fmt.Errorf("ask relay: %w", err)
	}
	return nil
}

// readReply reads one reply and the descriptor that comes with its first byte.
func readReply(conn *net.UnixConn) (dialReply, int, error) {
	var r dialReply
	buf, oob := make([]byte, 4096), make([]byte, syscall.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return r, -1, err
	}
	fd := parseDescriptor(oob[:oobn])
	rest := io.LimitReader(conn, int64(len(buf)))
	err = json.NewDecoder(io.MultiReader(bytes.NewReader(buf[:n]), rest)).Decode(&r)
	if err == nil && r.Code == "" && fd < 0 {
		err = errors.New("no socket came with it")
	}
	if fd >= 0 && (err != nil || r.Code != "") {
		_ = syscall.Close(fd)
	}
	return r, fd, err
}

// parseDescriptor returns the one descriptor in a control message, or -1.
func parseDescriptor(oob []byte) int {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return -1
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0]
}

func connFromDescriptor(fd int) (net.Conn, error) {
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "relay")
	defer func() { _ = f.Close() }()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("adopt socket: %w", err)
	}
	return conn, nil
}

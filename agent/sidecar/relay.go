package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

const (
	// maxRequest bounds a request: a name of 63 bytes, a port and a timeout.
	maxRequest = 512
	// requestTime is how long a caller may take to say what it wants.
	requestTime = 5 * time.Second
	// defaultDial applies when the caller's context has no deadline.
	defaultDial = 10 * time.Second
	// maxPending bounds the dials of one relay at a time; more wait in the socket's backlog. 256
	// goroutines stay within the relay's memory.
	maxPending = 256
	// returnEvery is after how many requests unused memory is returned to the system. That
	// takes a millisecond; left alone, Go would do it only minutes later.
	returnEvery = 64
	// restAfter is the idle time after which unused memory is returned to the system.
	restAfter = time.Second
)

// dialRequest asks for one connection.
type dialRequest struct {
	Service string `json:"service"`
	Port    int    `json:"port"`
	// Timeout is in milliseconds.
	Timeout int64 `json:"timeout"`
	// Accept asks instead for the next connection to the relay's mail port. Relays of earlier
	// releases take such a request for a bad target.
	Accept bool `json:"accept,omitempty"`
}

// dialReply answers a request. With no Code, a socket comes along.
type dialReply struct {
	Code    Code   `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// ServeRelay runs the relay on a unix socket until the context ends. If mailPort is not empty, it
// listens there too, for the deployment's mails.
func ServeRelay(ctx context.Context, socket, mailPort string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old socket: %w", err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	r := &relay{serviceResolver: newServiceResolver(net.DefaultResolver.LookupNetIP)}
	if mailPort != "" {
		if r.mails, err = listenForMails(ctx, mailPort); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	return r.acceptRequests(ctx, listener.(*net.UnixListener))
}

// relay answers the agent's requests.
type relay struct {
	*serviceResolver
	// mails is nil if the relay has no mail port.
	mails *mailQueue
}

func (r *relay) acceptRequests(ctx context.Context, listener *net.UnixListener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxPending)
	// Return the memory of the last requests to the system once there were none for a while.
	rest := time.AfterFunc(restAfter, debug.FreeOSMemory)
	defer rest.Stop()
	for count := 1; ; count++ {
		if count%returnEvery == 0 {
			debug.FreeOSMemory()
		}
		conn, err := listener.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		slots <- struct{}{}
		rest.Reset(restAfter)
		wg.Go(func() {
			defer func() { <-slots }()
			defer func() { _ = conn.Close() }()
			r.answerRequest(ctx, conn)
		})
	}
}

// answerRequest serves one request. A malformed request gets no response: only the agent
// can reach the socket.
func (r *relay) answerRequest(ctx context.Context, conn *net.UnixConn) {
	_ = conn.SetDeadline(time.Now().Add(requestTime))
	var q dialRequest
	if err := json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&q); err != nil {
		return
	}
	if q.Accept && r.mails != nil {
		r.mails.passNext(ctx, conn)
		return
	}
	timeout := time.Duration(q.Timeout) * time.Millisecond
	if timeout <= 0 || timeout > time.Minute {
		timeout = defaultDial
	}
	_ = conn.SetDeadline(time.Now().Add(timeout + requestTime))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if q.Port == lookupPort {
		_ = sendReply(conn, r.answerLookup(ctx, q.Service), nil)
		return
	}
	target, err := r.dialService(ctx, q)
	if err != nil {
		_ = sendReply(conn, dialReply{Code: codeOf(err), Message: err.Error()}, nil)
		return
	}
	defer func() { _ = target.Close() }()
	_ = sendSocket(conn, target)
}

// dialService connects to a service by its one-label name.
func (n *serviceResolver) dialService(ctx context.Context, q dialRequest) (*net.TCPConn, error) {
	if !isLabel(q.Service) || q.Port < 1 || q.Port > 65535 {
		return nil, fmt.Errorf("%w: %q port %d", errBadTarget, q.Service, q.Port)
	}
	address, err := n.lookupAddress(ctx, q.Service)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(address, uint16(q.Port)).String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

var errBadTarget = errors.New("not a service and a port")

// isLabel keeps addresses and longer names out: a service is one DNS label.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s == "localhost" {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func codeOf(err error) Code {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errBadTarget):
		return CodeBadTarget
	case errors.Is(err, syscall.ECONNREFUSED) && !errors.As(err, &dns):
		return CodeRefused
	case errors.As(err, &dns):
		return CodeUnknown
	case errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return CodeTimeout
	}
	return CodeFailed
}

// sendSocket passes the socket itself, without the duplicate that File would make, which
// would be switched to blocking mode.
func sendSocket(conn *net.UnixConn, target *net.TCPConn) error {
	raw, err := target.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	err = raw.Control(func(fd uintptr) {
		sendErr = sendReply(conn, dialReply{}, syscall.UnixRights(int(fd)))
	})
	return errors.Join(err, sendErr)
}

func sendReply(conn *net.UnixConn, r dialReply, rights []byte) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, _, err = conn.WriteMsgUnix(append(data, '\n'), rights, nil)
	return err
}

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// reachWithin is how long one attempt may take: a packet filter that drops packets causes
// no error.
const reachWithin = 2 * time.Second

// listenRole accepts connections and closes them, until the context ends or for
// some seconds. It is one end of the isolation probe, which tries from other
// networks whether this one can be reached.
func listenRole(ctx context.Context, port string, limit []string) error {
	if len(limit) > 0 {
		seconds, err := strconv.Atoi(limit[0])
		if err != nil || seconds < 1 {
			return fmt.Errorf("%q is not a number of seconds", limit[0])
		}
		within, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
		ctx = within
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", ":"+port)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		_ = conn.Close()
	}
}

// reachRole tries once to connect; its exit code says whether it could.
func reachRole(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || net.ParseIP(host) == nil {
		return fmt.Errorf("%q is not ADDRESS:PORT", address)
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", address)
	if err != nil {
		return &exitError{code: ExitUnreachable, err: errors.New("not reached")}
	}
	return conn.Close()
}

package wire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// HeaderTarget names a tunnel's target in a CONNECT request.
const HeaderTarget = "Nullops-Target"

// HeaderInside asks instead for a connection into a service: deployment/service.
const HeaderInside = "Nullops-Inside"

// HeaderListens is in the refusal of a tunnel to a service that listens on loopback
// addresses only, and names them. It is optional.
const HeaderListens = "Nullops-Listens"

// Target is one declared port of one service. It is never an address: the
// agent looks it up among its own goals.
type Target struct {
	Deployment string // id
	Service    string // step key
	Port       int
}

// String is the header's form: deployment/service/port, or deployment/service
// for a target inside.
func (t Target) String() string {
	if t.Port == 0 {
		return t.Deployment + "/" + t.Service
	}
	return t.Deployment + "/" + t.Service + "/" + strconv.Itoa(t.Port)
}

// ParseTarget reads String's form and nothing else.
func ParseTarget(text string) (Target, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || !isName(parts[0]) || !isName(parts[1]) {
		return Target{}, fmt.Errorf("%s %.100q is not deployment/service/port", HeaderTarget, text)
	}
	port, err := strconv.ParseUint(parts[2], 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != parts[2] {
		return Target{}, fmt.Errorf("%s %.100q: its port is not 1 to 65535", HeaderTarget, text)
	}
	return Target{Deployment: parts[0], Service: parts[1], Port: int(port)}, nil
}

// ParseInside reads the form without a port.
func ParseInside(text string) (Target, error) {
	deployment, service, ok := strings.Cut(text, "/")
	if !ok || !isName(deployment) || !isName(service) {
		return Target{}, fmt.Errorf("%s %.100q is not deployment/service", HeaderInside, text)
	}
	return Target{Deployment: deployment, Service: service}, nil
}

// isName reports whether s is a UUID or a DNS label.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// TunnelError is an agent's no to a tunnel. Status is the HTTP status: 404 for
// an unknown target, 502 for a service that does not answer.
type TunnelError struct {
	Target Target
	Status int
	Reason string
	// Listens are the loopback addresses on which alone the service listens.
	Listens ListenAddrs
}

func (e *TunnelError) Error() string {
	return fmt.Sprintf("tunnel to %s: agent answered %d: %s", e.Target, e.Status, e.Reason)
}

// OpenTunnel asks the agent at the other end of conn to connect it to target. ctx bounds
// the request only. OpenTunnel owns conn from now on, also on error. The result supports
// CloseWrite if conn does.
func OpenTunnel(ctx context.Context, conn net.Conn, target Target) (net.Conn, error) {
	return openWithHeader(ctx, conn, HeaderTarget, target)
}

// OpenInside asks the agent at the other end of conn to start the sidecar's inside role in
// a service; from then on frames go both ways. It owns conn from now on, also on error.
func OpenInside(
	ctx context.Context, conn net.Conn, deployment, service string,
) (net.Conn, error) {
	return openWithHeader(ctx, conn, HeaderInside, Target{Deployment: deployment, Service: service})
}

func openWithHeader(
	ctx context.Context, conn net.Conn, header string, target Target,
) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := requestTunnel(conn, header, target)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

func requestTunnel(conn net.Conn, header string, target Target) (net.Conn, error) {
	request := "CONNECT agent:1 HTTP/1.1\r\nHost: agent:1\r\n" +
		header + ": " + target.String() + "\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, fmt.Errorf("tunnel to %s: %w", target, err)
	}
	// Only the header is limited; bytes already buffered after it are returned with the
	// connection.
	limited := &io.LimitedReader{R: conn, N: maxHeader}
	br := bufio.NewReader(limited)
	answer, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, fmt.Errorf("tunnel to %s: read the agent's answer: %w", target, err)
	}
	if answer.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
		return nil, &TunnelError{Target: target, Status: answer.StatusCode,
			Reason:  strings.TrimSpace(string(reason)),
			Listens: parseListens(answer.Header.Get(HeaderListens))}
	}
	return prependBuffered(conn, br)
}

// AcceptTunnel answers a CONNECT request with 200 and hijacks its connection from the HTTP
// server. The caller already holds the connection to the target, and owns both from now on.
func AcceptTunnel(w http.ResponseWriter) (net.Conn, error) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("accept tunnel: %w", err)
	}
	err = conn.SetDeadline(time.Time{})
	if err == nil {
		_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("accept tunnel: %w", err)
	}
	return prependBuffered(conn, rw.Reader)
}

// prependBuffered returns conn with the bytes that br has already read in front of it.
func prependBuffered(conn net.Conn, br *bufio.Reader) (net.Conn, error) {
	if br.Buffered() == 0 {
		return conn, nil
	}
	ahead, err := br.Peek(br.Buffered())
	if err != nil {
		return nil, err
	}
	return &bufferedConn{Conn: conn, ahead: bytes.NewReader(bytes.Clone(ahead))}, nil
}

type bufferedConn struct {
	net.Conn
	ahead *bytes.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	if c.ahead.Len() > 0 {
		return c.ahead.Read(p)
	}
	return c.Conn.Read(p)
}

// CloseWrite passes a half-close on.
func (c *bufferedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// mailQueue passes connections to the relay's mail port to the agent, which speaks SMTP. The relay
// accepts one only when the agent asked for it: while the agent is away or busy, clients wait in
// the listener's backlog.
type mailQueue struct {
	conns chan *net.TCPConn
}

// listenForMails accepts connections at a port until the context ends.
func listenForMails(ctx context.Context, port string) (*mailQueue, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", ":"+port)
	if err != nil {
		return nil, fmt.Errorf("listen for mails: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	q := &mailQueue{conns: make(chan *net.TCPConn)}
	go q.acceptConns(ctx, l.(*net.TCPListener))
	return q, nil
}

func (q *mailQueue) acceptConns(ctx context.Context, l *net.TCPListener) {
	for {
		conn, err := l.AcceptTCP()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// Such as too many open files: the next one may have room.
			time.Sleep(restAfter)
			continue
		}
		q.queueConn(ctx, conn)
	}
}

func (q *mailQueue) queueConn(ctx context.Context, conn *net.TCPConn) {
	select {
	case q.conns <- conn:
	case <-ctx.Done():
		_ = conn.Close()
	}
}

// passNext passes the next connection to the agent at the other end of to, or returns when that
// agent is gone.
func (q *mailQueue) passNext(ctx context.Context, to *net.UnixConn) {
	_ = to.SetDeadline(time.Time{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		// The agent sends nothing more: the read ends with the connection.
		_, _ = to.Read(make([]byte, 1))
	}()
	select {
	case <-ctx.Done():
	case <-gone:
	case conn := <-q.conns:
		_ = to.SetWriteDeadline(time.Now().Add(requestTime))
		if sendSocket(to, conn) != nil {
			// The agent ended in this moment: its successor gets the connection.
			go q.queueConn(ctx, conn)
			return
		}
		_ = conn.Close()
	}
}

// ErrNoMailPort means that a relay does not listen for mails.
var ErrNoMailPort = errors.New("the relay does not listen for mails")

// AcceptMail waits for the next connection to the mail port of the relay at a socket. An error is
// ErrNoMailPort if the relay has none.
func AcceptMail(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := connectSocket(ctx, socket)
	if err != nil {
		return nil, fmt.Errorf("reach relay: %w", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	mail, err := requestMail(conn)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return mail, err
}

func requestMail(conn *net.UnixConn) (net.Conn, error) {
	if err := writeRequest(conn, dialRequest{Accept: true}); err != nil {
		return nil, err
	}
	r, fd, err := readReply(conn)
	if err != nil {
		return nil, fmt.Errorf("relay's answer: %w", err)
	}
	if r.Code != "" {
		return nil, ErrNoMailPort
	}
	return connFromDescriptor(fd)
}

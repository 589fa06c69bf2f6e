package sidecar

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// On a cluster, a deployment's mails come to a pod of its own, whose helper listens at two
// ports: at one for mails, at the other for the agent, which speaks SMTP as it does with a
// relay. Both ends prove to each other that they know the pod's key, without saying it, before a
// connection is passed on: an address of a pod may have become another pod's meanwhile.
//
//	agent → pod   a nonce
//	pod → agent   a nonce, and the pod's proof
//	agent → pod   the agent's proof
//	pod → agent   of the client of a mail: its address, after the address's length in one byte
//	agent → pod   one byte: the agent has the connection
//
// From then on, both carry the bytes of the mail's connection.

const (
	// MailKeyVariable is the variable that the mail role has its key from.
	MailKeyVariable = "NULLOPS_MAIL_KEY"
	// maxMailAgents bounds the connections to the agent's port. An agent waits on one.
	maxMailAgents = 64
	nonceSize     = 32
)

// mailKeepAlive lets both ends of an idle connection notice within half a minute that the other's
// machine is lost.
func mailKeepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second,
		Count: 3}
}

// errNotMailPeer means that who is at the other end does not know the key.
var errNotMailPeer = errors.New("who answers is not the other end of the deployment's mail port")

// proveMail is what one side, "pod" or "agent", shows of its key.
func proveMail(key, side string, fromAgent, fromPod []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write([]byte("nullops mail 1 " + side + "\n"))
	_, _ = h.Write(fromAgent)
	_, _ = h.Write(fromPod)
	return h.Sum(nil)
}

func newNonce() []byte {
	n := make([]byte, nonceSize)
	_, _ = rand.Read(n) // never fails: the process dies instead
	return n
}

// serveMailPort passes connections to the mail port to the agent, until the context ends.
func serveMailPort(ctx context.Context, mailPort, agentPort string) error {
	key := os.Getenv(MailKeyVariable)
	if key == "" {
		return fmt.Errorf("%s is empty", MailKeyVariable)
	}
	debug.SetGCPercent(relayGC)
	lc := net.ListenConfig{KeepAliveConfig: mailKeepAlive()}
	l, err := lc.Listen(ctx, "tcp", ":"+agentPort)
	if err != nil {
		return fmt.Errorf("listen for the agent: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	q, err := listenForMails(ctx, mailPort)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return q.acceptAgents(ctx, l.(*net.TCPListener), key)
}

func (q *mailQueue) acceptAgents(ctx context.Context, l *net.TCPListener, key string) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxMailAgents)
	for {
		slots <- struct{}{}
		conn, err := l.AcceptTCP()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			<-slots
			time.Sleep(restAfter) // such as too many open files
			continue
		}
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer func() { _ = conn.Close() }()
			release := sync.OnceFunc(func() { <-slots })
			defer release()
			q.serveAgent(ctx, conn, key, release)
		})
	}
}

// serveAgent gives the agent the next connection, and carries it to its end. taken is called when
// the agent has it: then the connection counts no more as one that waits.
func (q *mailQueue) serveAgent(ctx context.Context, to *net.TCPConn, key string, taken func()) {
	if answerMailAgent(to, key) != nil {
		return
	}
	mail := q.awaitMail(ctx, to)
	if mail == nil {
		return
	}
	if handMail(to, mail) != nil {
		// The agent ended in this moment: its successor gets the connection.
		go q.queueConn(ctx, mail)
		return
	}
	taken()
	stop := context.AfterFunc(ctx, func() { _ = mail.Close() })
	defer stop()
	defer func() { _ = mail.Close() }()
	joinMail(mail, to)
}

// answerMailAgent is the pod's side of the proof.
func answerMailAgent(conn net.Conn, key string) error {
	_ = conn.SetDeadline(time.Now().Add(requestTime))
	fromAgent, fromPod := make([]byte, nonceSize), newNonce()
	if _, err := io.ReadFull(conn, fromAgent); err != nil {
		return err
	}
	_, err := conn.Write(append(fromPod, proveMail(key, "pod", fromAgent, fromPod)...))
	if err != nil {
		return err
	}
	proof := make([]byte, sha256.Size)
	if _, err := io.ReadFull(conn, proof); err != nil {
		return err
	}
	if !hmac.Equal(proof, proveMail(key, "agent", fromAgent, fromPod)) {
		return errNotMailPeer
	}
	return conn.SetDeadline(time.Time{})
}

// awaitMail waits for the next connection of a mail. It returns nil when the agent is gone.
func (q *mailQueue) awaitMail(ctx context.Context, agent *net.TCPConn) *net.TCPConn {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		// The agent says nothing until it is given a connection: the read ends with the agent, or
		// when it is interrupted.
		_, _ = agent.Read(make([]byte, 1))
	}()
	select {
	case <-ctx.Done():
	case <-gone:
	case mail := <-q.conns:
		_ = agent.SetReadDeadline(time.Unix(1, 0))
		<-gone
		return mail
	}
	return nil
}

// handMail tells the agent whose connection it gets, and waits until it has it.
func handMail(to, mail net.Conn) error {
	_ = to.SetDeadline(time.Now().Add(requestTime))
	peer := mail.RemoteAddr().String()
	if _, err := to.Write(append([]byte{byte(len(peer))}, peer...)); err != nil {
		return err
	}
	if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
		return err
	}
	return to.SetDeadline(time.Time{})
}

// joinMail copies both ways until the agent has ended its side: then the mail's client has a moment
// to read the rest.
func joinMail(mail, agent *net.TCPConn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(agent, mail)
		_ = agent.CloseWrite()
	})
	_, _ = io.Copy(mail, agent)
	_ = mail.CloseWrite()
	_ = mail.SetReadDeadline(time.Now().Add(requestTime))
	wg.Wait()
}

// MailPod is where the helper of a deployment's mail pod waits for the agent.
type MailPod struct {
	// Address has the port too.
	Address string
	Key     string
}

// Dial connects to the pod as its agent. The connection waits for a mail until it is closed.
func (p MailPod) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultDial)
	defer cancel()
	d := net.Dialer{KeepAliveConfig: mailKeepAlive()}
	conn, err := d.DialContext(ctx, "tcp", p.Address)
	if err != nil {
		return nil, fmt.Errorf("reach the mail pod: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = provePodAgent(conn, p.Key)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mail pod %s: %w", p.Address, err), conn.Close())
	}
	return conn, nil
}

// provePodAgent is the agent's side of the proof.
func provePodAgent(conn net.Conn, key string) error {
	fromAgent := newNonce()
	if _, err := conn.Write(fromAgent); err != nil {
		return err
	}
	answer := make([]byte, nonceSize+sha256.Size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	fromPod := answer[:nonceSize]
	if !hmac.Equal(answer[nonceSize:], proveMail(key, "pod", fromAgent, fromPod)) {
		return errNotMailPeer
	}
	_, err := conn.Write(proveMail(key, "agent", fromAgent, fromPod))
	return err
}

// Accept waits for the next connection of a mail.
func (p MailPod) Accept(ctx context.Context) (net.Conn, error) {
	conn, err := p.Dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	peer, err := takeMail(conn)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mail pod %s: %w", p.Address, err), conn.Close())
	}
	return &mailConn{Conn: conn, peer: peer}, nil
}

func takeMail(conn net.Conn) (peer net.Addr, err error) {
	length := make([]byte, 1)
	if _, err := io.ReadFull(conn, length); err != nil {
		return nil, err
	}
	text := make([]byte, length[0])
	if _, err := io.ReadFull(conn, text); err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte{0})
	return peerAddress(text), err
}

// mailConn is a connection whose client is the mail's and not the pod's helper.
type mailConn struct {
	net.Conn
	peer net.Addr
}

// RemoteAddr implements net.Conn.
func (c *mailConn) RemoteAddr() net.Addr { return c.peer }

// peerAddress is a client's address, as the pod's helper has it.
type peerAddress string

// Network implements net.Addr.
func (peerAddress) Network() string { return "tcp" }

func (a peerAddress) String() string { return string(a) }

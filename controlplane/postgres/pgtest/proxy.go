package pgtest

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is the network between a control plane and its database. It leads elsewhere after a
// failover, and is cut at the worst moment.
type Proxy struct {
	listener net.Listener

	executed atomic.Int64

	mu     sync.Mutex
	target string
	down   bool
	nth    int
	cut    CommitCut
	conns  map[net.Conn]bool
}

// CommitCut is where a connection breaks in a commit.
type CommitCut int

// The server has not seen the commit, or has committed and its answer is lost.
const (
	NoCut CommitCut = iota
	CutBeforeCommit
	CutAfterCommit
)

// NewProxy leads to the server of a database, and returns the database's URL through it.
func NewProxy(t testing.TB, dsn string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &Proxy{listener: l, target: u.Host, conns: map[net.Conn]bool{}}
	u.Host = l.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.SetDown(true)
		serving.Wait()
	})
	return p, u.String()
}

// SetDown cuts every connection and refuses new ones, or lets them through again.
func (p *Proxy) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	p.closeAll()
}

// LeadTo cuts every connection; new ones go to another server.
func (p *Proxy) LeadTo(s *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = s.Address()
	p.closeAll()
}

// CutCommit breaks the connection on which the nth commit from now is sent.
func (p *Proxy) CutCommit(nth int, at CommitCut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nth, p.cut = nth, at
}

// Waits reports whether the cut has not happened yet.
func (p *Proxy) Waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut != NoCut
}

// executeMessage is what pgx sends to execute a statement; begin and commit go another way.
const executeMessage = "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"

// CountStatements returns how many statements were executed through the proxy so far.
func (p *Proxy) CountStatements() int64 { return p.executed.Load() }

// closeAll ends all connections. The lock is held.
func (p *Proxy) closeAll() {
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) open(client net.Conn) (server net.Conn, ok bool) {
	p.mu.Lock()
	target, down := p.target, p.down
	p.mu.Unlock()
	if down {
		return nil, false
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[client], p.conns[server] = true, true
	return server, !p.down
}

func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, ok := p.open(client)
	if server != nil {
		defer func() { _ = server.Close() }()
	}
	if !ok {
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}()
	lost := make(chan struct{})
	answering := make(chan struct{})
	go func() {
		defer close(answering)
		p.passAnswers(server, client, lost)
	}()
	p.passQuestions(client, server, lost)
	_ = server.Close()
	<-answering
}

// passQuestions passes on what the client sends, until a commit is to be cut.
func (p *Proxy) passQuestions(client, server net.Conn, lost chan<- struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		p.executed.Add(int64(bytes.Count(buffer[:n], []byte(executeMessage))))
		switch p.takeCut(buffer[:n]) {
		case CutBeforeCommit:
			_ = client.Close()
			return
		case CutAfterCommit:
			close(lost)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// takeCut says whether this message is the one to be cut.
func (p *Proxy) takeCut(message []byte) CommitCut {
	if !bytes.Contains(message, []byte("commit\x00")) {
		return NoCut
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nth--; p.nth > 0 {
		return NoCut
	}
	at := p.cut
	p.cut = NoCut
	return at
}

// passAnswers passes on what the server sends. Once lost is closed, the next answer is the
// commit's, and does not arrive.
func (p *Proxy) passAnswers(server, client net.Conn, lost <-chan struct{}) {
	defer func() { _ = client.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-lost:
			return
		default:
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// door listens once for all agents and hands each connection to the one whose
// loopback address was dialed: a listener for each would take as many file
// descriptors as the connections do.
type door struct {
	listener net.Listener
	mu       sync.Mutex
	agents   map[string]*mailbox
}

func newDoor() (*door, error) {
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		return nil, fmt.Errorf("listen for the agents: %w", err)
	}
	return &door{listener: l, agents: map[string]*mailbox{}}, nil
}

// port is the same at every agent's address.
func (d *door) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

// at is an agent's own listener.
func (d *door) at(address string) *mailbox {
	m := &mailbox{address: address, arrived: make(chan net.Conn, 16), closed: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents[address] = m
	return m
}

// serve hands connections over until the context ends. Nobody but this machine
// gets in.
func (d *door) serve(ctx context.Context) error {
	context.AfterFunc(ctx, func() { _ = d.listener.Close() })
	for {
		c, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		d.mu.Lock()
		m := d.agents[c.LocalAddr().String()]
		d.mu.Unlock()
		from, ok := c.RemoteAddr().(*net.TCPAddr)
		if m == nil || !ok || !from.IP.IsLoopback() || !m.take(c) {
			_ = c.Close()
		}
	}
}

// mailbox is the listener of one agent.
type mailbox struct {
	address string
	arrived chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

var _ net.Listener = (*mailbox)(nil)

func (m *mailbox) take(c net.Conn) bool {
	select {
	case m.arrived <- c:
		return true
	default:
		return false
	}
}

// Accept implements net.Listener.
func (m *mailbox) Accept() (net.Conn, error) {
	select {
	case c := <-m.arrived:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *mailbox) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener.
func (m *mailbox) Addr() net.Addr {
	address, err := net.ResolveTCPAddr("tcp", m.address)
	if err != nil {
		return &net.TCPAddr{}
	}
	return address
}

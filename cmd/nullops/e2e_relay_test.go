package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// bridgeSocket runs this binary as a process of its own, in another network namespace:
// connections to the address there are passed on to a unix socket, which is the same file in every
// namespace.
func bridgeSocket(address, socket string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(0)
		}
		go copyBoth(conn, "unix", socket)
	}
}

// dialInside is bridgeSocket the other way round: connections to the unix socket are passed on
// to the address in this network namespace.
func dialInside(socket, address string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(0)
		}
		go copyBoth(conn, "tcp", address)
	}
}

// copyBoth connects a connection with an address.
func copyBoth(conn net.Conn, network, address string) {
	other, err := net.Dial(network, address)
	if err != nil {
		_ = conn.Close()
		return
	}
	joinBoth(conn, other)
}

// joinBoth connects two connections until both sides have said all.
func joinBoth(conn, other net.Conn) {
	defer func() { _ = conn.Close() }()
	defer func() { _ = other.Close() }()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{conn, other}, {other, conn}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
}

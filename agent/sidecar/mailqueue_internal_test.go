package sidecar

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// serveMailRelay runs a relay whose mail port is a free one of this machine.
func serveMailRelay(t *testing.T) (socket, mail string) {
	t.Helper()
	var lc net.ListenConfig
	free, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mail = free.Addr().String()
	_ = free.Close()
	dir, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	_, port, _ := net.SplitHostPort(mail)
	go func() { ended <- ServeRelay(ctx, socket, port) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the relay ended with: %v", err)
		}
	})
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
			return socket, mail
		}
		time.Sleep(time.Millisecond)
	}
}

// Clients wait while no agent asks for their connections, and one that an agent asked for and did
// not live to get goes to its successor.
func TestAcceptMail_GoesToTheSuccessor(t *testing.T) {
	socket, mail := serveMailRelay(t)
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := AcceptMail(ctx, socket)
		gaveUp <- err
	}()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Fatalf("an agent that ends: %v", err)
	}
	client, err := net.Dial("tcp", mail)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	server, err := AcceptMail(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	if _, err := server.Write([]byte("220")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := client.Read(got); err != nil || string(got) != "220" {
		t.Errorf("the client read %q, %v", got, err)
	}
}

package sidecar

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// serveMailPod runs the helper of a pod that takes mails, on free ports of this machine.
func serveMailPod(t *testing.T, key string) (pod MailPod, mail string) {
	t.Helper()
	t.Setenv(MailKeyVariable, key)
	var addresses, ports [2]string
	var lc net.ListenConfig
	for i := range addresses {
		free, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = free.Addr().String()
		_, ports[i], _ = net.SplitHostPort(addresses[i])
		_ = free.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveMailPort(ctx, ports[0], ports[1]) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the helper ended with: %v", err)
		}
	})
	for {
		conn, err := net.Dial("tcp", addresses[0])
		if err == nil {
			_ = conn.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	pod = MailPod{Address: addresses[1], Key: key}
	first, err := pod.Accept(t.Context()) // the one that looked whether it listens
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	return pod, addresses[0]
}

func dialMail(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// An agent that knows the pod's key gets the connections of mails, with their clients' addresses,
// and both ends hear of each other's end. A connection that an agent did not live to get goes to
// its successor.
func TestMailPod_PassesConnections(t *testing.T) {
	pod, mail := serveMailPod(t, "the key")
	dying, err := pod.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := dialMail(t, mail)
	// It is told of the client, and dies before it takes it.
	if _, err := io.ReadFull(dying, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	_ = dying.Close()
	server, err := pod.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if server.RemoteAddr().String() != client.LocalAddr().String() {
		t.Errorf("the client is %s, and not %s", server.RemoteAddr(), client.LocalAddr())
	}
	for _, pair := range [][2]net.Conn{{server, client}, {client, server}} {
		if _, err := pair[0].Write([]byte("220 mail")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 8)
		if _, err := io.ReadFull(pair[1], got); err != nil || string(got) != "220 mail" {
			t.Errorf("the other end read %q, %v", got, err)
		}
	}
	_ = server.Close()
	if n, err := client.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end the client reads %d, %v", n, err)
	}
}

// Who does not know the pod's key gets no connection, neither a stranger from the pod nor a
// stranger's from another pod that has its address.
func TestMailPod_WantsTheKey(t *testing.T) {
	pod, mail := serveMailPod(t, "the key")
	stranger := MailPod{Address: pod.Address, Key: "another"}
	if _, err := stranger.Dial(t.Context()); !errors.Is(err, errNotMailPeer) {
		t.Errorf("a stranger is answered with %v", err)
	}
	// One that does not care who the pod is, and cannot prove itself.
	bold := dialMail(t, pod.Address)
	if _, err := bold.Write(make([]byte, nonceSize)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(bold, make([]byte, nonceSize+32)); err != nil {
		t.Fatal(err)
	}
	if _, err := bold.Write(make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	client := dialMail(t, mail)
	if n, err := bold.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a stranger reads %d bytes, %v", n, err)
	}
	server, err := pod.Accept(t.Context())
	if err != nil || server.RemoteAddr().String() != client.LocalAddr().String() {
		t.Fatalf("the agent gets %v, %v", server, err)
	}
	_ = server.Close()
}

// An agent that ends while it waits is gone at once, and does not keep a client waiting.
func TestMailPod_AcceptEndsWithItsContext(t *testing.T) {
	pod, mail := serveMailPod(t, "the key")
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := pod.Accept(ctx)
		gaveUp <- err
	}()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Fatalf("an agent that ends: %v", err)
	}
	dialMail(t, mail)
	server, err := pod.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
}

package mailbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipeServer serves a mailbox in memory, and returns what connects to it.
func pipeServer(t *testing.T, box *Box) (connect func() *bufio.ReadWriter) {
	conns := make(chan net.Conn)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- box.Serve(ctx, func(ctx context.Context) (net.Conn, error) {
			select {
			case conn := <-conns:
				return conn, nil
			case <-ctx.Done():
				return nil, net.ErrClosed
			}
		}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return func() *bufio.ReadWriter {
		client, server := net.Pipe()
		t.Cleanup(func() { _ = client.Close() })
		conns <- server
		c := bufio.NewReadWriter(bufio.NewReader(client), bufio.NewWriterSize(client, 1))
		mustRead(t, c, "220")
		return c
	}
}

func mustRead(t *testing.T, c *bufio.ReadWriter, want string) {
	t.Helper()
	for {
		line, err := c.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("in place of %s: %q, %v", want, line, err)
		}
		if line[3] != '-' {
			return
		}
	}
}

func beginMail(t *testing.T, c *bufio.ReadWriter) {
	t.Helper()
	for _, line := range []string{"EHLO app", "MAIL FROM:<a@b.c>", "RCPT TO:<d@e.f>"} {
		_, _ = c.WriteString(line + "\r\n")
		_ = c.Flush()
		mustRead(t, c, "250")
	}
	_, _ = c.WriteString("DATA\r\n")
	_ = c.Flush()
	mustRead(t, c, "354")
}

// Clients that send a mail byte by byte keep nobody else's deployment waiting, and are cut off
// after a while. Nothing is left of their mails.
//
// threat: T55
func TestServe_SlowSenders(t *testing.T) {
	store := Open(t.TempDir(), DefaultLimits())
	slow, err := store.Box("slow")
	if err != nil {
		t.Fatal(err)
	}
	quick, err := store.Box("quick")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		// Their channels belong to the bubble.
		slow.writers, quick.writers = make(chan struct{}, maxWriters), make(chan struct{}, maxWriters)
		slow.changed, quick.changed = make(chan struct{}), make(chan struct{})
		connect := pipeServer(t, slow)
		cutOff := make(chan time.Duration)
		for range maxConns {
			c := connect()
			beginMail(t, c)
			began := time.Now()
			go func() {
				for {
					_, err := c.WriteString("x")
					if err = errors.Join(err, c.Flush()); err != nil {
						cutOff <- time.Since(began)
						return
					}
					time.Sleep(time.Second)
				}
			}()
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		c := pipeServer(t, quick)()
		beginMail(t, c)
		began := time.Now()
		_, _ = c.WriteString("Subject: quick\r\n\r\nx\r\n.\r\n")
		_ = c.Flush()
		mustRead(t, c, "250")
		if took := time.Since(began); took > time.Second || quick.Counts().Mails != 1 {
			t.Errorf("another deployment's mail took %s, %+v", took, quick.Counts())
		}
		for range maxConns {
			if after := <-cutOff; after > idleTimeout+2*time.Second {
				t.Errorf("a slow client was cut off after %s", after)
			}
		}
		synctest.Wait()
		if left, _ := os.ReadDir(slow.dir); len(left) > 0 || slow.Counts() != (Counts{}) {
			t.Errorf("left %v, %+v", left, slow.Counts())
		}
	})
}

// More connections than a deployment may have wait in its relay until one of the others ends.
//
// threat: T55
func TestServe_MoreConnectionsWait(t *testing.T) {
	box, err := Open(t.TempDir(), DefaultLimits()).Box("d1")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		box.changed, box.writers = make(chan struct{}), make(chan struct{}, maxWriters)
		connect := pipeServer(t, box)
		first := connect()
		for range maxConns - 1 {
			connect()
		}
		greeted := false
		go func() {
			c := connect()
			greeted = true
			beginMail(t, c)
		}()
		synctest.Wait()
		// promise: W-07
		if greeted {
			t.Errorf("%d connections are served", maxConns+1)
		}
		_, _ = first.WriteString("QUIT\r\n")
		_ = first.Flush()
		mustRead(t, first, "221")
		synctest.Wait()
		if !greeted {
			t.Error("a connection that waited is not served after another one ended")
		}
	})
}

// Commands are answered no faster than applications need it.
//
// threat: T55
func TestServe_CommandsArePaced(t *testing.T) {
	box, err := Open(t.TempDir(), DefaultLimits()).Box("d1")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		box.changed = make(chan struct{})
		c := pipeServer(t, box)()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		began := time.Now()
		const noops = 1 << 20 / len("NOOP\r\n")
		for range noops {
			_, _ = c.WriteString("NOOP\r\n")
		}
		_ = c.Flush()
		// The first half MiB is free, the rest is 64 KiB a second.
		if took := time.Since(began); took < 7*time.Second {
			t.Errorf("%d commands took %s", noops, took)
		}
	})
}

// A disk that becomes full while a mail comes is not filled to its end.
func TestBox_StopsWhenTheDiskBecomesFull(t *testing.T) {
	limits := DefaultLimits()
	store := Open(t.TempDir(), limits)
	free := limits.Free + limits.Mail
	store.diskFree = func(string) (int64, error) {
		free -= 3 << 20
		return free + 3<<20, nil
	}
	box, err := store.Box("d1")
	if err == nil {
		large := strings.NewReader(strings.Repeat("0123456789abcde\n", 600_000))
		err = box.Add(Envelope{}, struct{ io.Reader }{large})
	}
	if !errors.Is(err, errDiskFull) {
		t.Fatalf("a mail for a disk that becomes full: %v", err)
	}
	if left, _ := os.ReadDir(box.dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

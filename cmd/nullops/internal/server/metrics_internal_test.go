package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// While an agent runs, it shows what Go knows about it, and this ends with it.
func TestRunWithMetrics(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	log := slog.New(slog.DiscardHandler)
	err = runWithMetrics(t.Context(), address, log, func(context.Context) error {
		t.Error("it runs, though nobody can read its metrics")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "metrics.listen") ||
		!strings.Contains(err.Error(), "choose a free address") {
		t.Errorf("an address in use: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ended := errors.New("the agent ended")
	err = runWithMetrics(t.Context(), address, log, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		for _, name := range []string{"\ngo_goroutines ", "\nprocess_open_fds ",
			"\nprocess_resident_memory_bytes "} {
			if !strings.Contains(string(text), name) {
				t.Errorf("%q is not in the metrics: %.300s", name, text)
			}
		}
		return ended
	})
	if !errors.Is(err, ended) {
		t.Errorf("it ended with %v", err)
	}
	if again, err := net.Listen("tcp", address); err != nil {
		t.Errorf("the port is still in use: %v", err)
	} else {
		_ = again.Close()
	}
}

// A program that reads metrics over a new connection each time must not fill up this one.
func TestNewProbeServer_ClosesConnectionsThatIdle(t *testing.T) {
	t.Parallel()
	if s := newProbeServer(nil); s.IdleTimeout <= 0 || s.IdleTimeout > 2*time.Minute {
		t.Errorf("a connection may idle for %s", s.IdleTimeout)
	}
}

package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/handover"
)

// replacement is what an ingress needs to be replaced by a new process of itself.
type replacement struct {
	sockets *handover.Sockets
	asked   <-chan os.Signal
	retire  context.CancelFunc // ends this process
}

// awaitReplacementSignal is called first of all: a signal that nobody expects would end the
// process.
func awaitReplacementSignal() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	return asked
}

// prepareReplacement takes over what the ingress before this one has passed on.
func (b *serverBase) prepareReplacement(
	asked <-chan os.Signal, retire context.CancelFunc,
) (err error) {
	sockets, err := handover.Inherit()
	if err == nil {
		b.replacement = &replacement{sockets: sockets, asked: asked, retire: retire}
	}
	return err
}

// listen opens a socket that a new process of this server inherits, if this one can be replaced.
func (b *serverBase) listen(name, address string) (net.Listener, error) {
	if b.replacement == nil {
		return net.Listen("tcp", address)
	}
	return b.replacement.sockets.Listen(name, address)
}

// listenMetrics opens the port of metrics and probes; nil if they are off.
func (b *serverBase) listenMetrics() (net.Listener, error) {
	if b.settings.Metrics.Listen == "" {
		return nil, nil
	}
	l, err := b.listen("metrics", b.settings.Metrics.Listen)
	if err != nil {
		return nil, fmt.Errorf("setting metrics.listen: %w", err)
	}
	return l, nil
}

// tellReady has the process before this one, if there was one, accept no more connections, and
// tells systemd.
func (b *serverBase) tellReady() error {
	if b.replacement == nil {
		return nil
	}
	if err := b.replacement.sockets.Ready(); err != nil {
		return fmt.Errorf("tell the ingress before this one to make room: %w", err)
	}
	if err := tellSystemd("READY=1"); err != nil {
		b.log.Warn("systemd was not told that the ingress serves", "error", err)
	}
	return nil
}

// untilReplaced sends clients of an ingress that was replaced to the new one.
func (b *serverBase) untilReplaced(h http.Handler) http.Handler {
	if b.replacement == nil {
		return h
	}
	return b.replacement.sockets.Wrap(h)
}

// awaitReplacement starts a new ingress when an operator asks for it, and ends this one once its
// clients are gone: requests are answered to their end, and WebSockets last as long as they like.
func (b *serverBase) awaitReplacement(ctx context.Context, limits *ingress.Limits) {
	if b.replacement == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.replacement.asked:
		}
		pid, err := b.replacement.sockets.Replace(ctx)
		if err != nil {
			b.log.ErrorContext(ctx, "the ingress was not replaced", "error", err)
			continue
		}
		b.log.InfoContext(ctx, "another ingress serves now; this one ends with its last connection",
			"pid", pid, "connections", limits.Open())
		if err := tellSystemd(fmt.Sprintf("MAINPID=%d", pid)); err != nil {
			b.log.WarnContext(ctx, "systemd was not told of the new ingress", "error", err)
		}
		b.replacement.sockets.Drain(ctx, limits.Open)
		b.replacement.retire()
		return
	}
}

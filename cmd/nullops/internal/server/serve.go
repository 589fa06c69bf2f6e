package server

import (
	"context"
	"errors"
	"net"
	"time"
)

// httpServer is net/http's server, or one that does more.
type httpServer interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// serveHTTP serves until ctx ends, then lets requests finish for a moment.
// Streams are cut after that: their readers resume elsewhere.
func serveHTTP(ctx context.Context, server httpServer, l net.Listener) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		err := server.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		stopped <- err
	})
	err := server.Serve(l)
	if stop() {
		// Serve failed by itself.
		return err
	}
	return <-stopped
}

// Command web is the shop's front end: one page, rendered here, with the
// products it reads from API_URL. With API_TOKEN it can also sell one.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nullops/nullops/deploy/examples/shop/release"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	if err := runServer(log); err != nil {
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

func runServer(log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	info, err := release.Read(release.Path)
	if err != nil {
		return err
	}
	// One tag of the demonstration cannot start, to show a failed deployment.
	if info.Has("crash-on-start") {
		return errors.New("checkout: the template \"vouchers\" is not there")
	}
	s := server{
		api: strings.TrimSuffix(os.Getenv("API_URL"), "/"), token: os.Getenv("API_TOKEN"),
		place: os.Getenv("SHOP_PLACE"), info: info, log: log,
		client: &http.Client{Timeout: 5 * time.Second},
	}
	if s.api == "" {
		return errors.New("API_URL is not set; give it the address of the api service")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	log.Info("listening", "port", port, "version", info.Version, "revision", info.Revision)
	return serveUntilDone(ctx, ":"+port, s.routes())
}

// serveUntilDone ends gracefully on SIGTERM: requests under way get five seconds.
func serveUntilDone(ctx context.Context, address string, handler http.Handler) error {
	srv := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case err := <-failed:
		return fmt.Errorf("listen on %s: %w", address, err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return srv.Shutdown(ctx)
}

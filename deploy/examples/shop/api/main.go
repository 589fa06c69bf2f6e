// Command api is the shop's back end: it reads products from PostgreSQL and sells them to clients
// with the token.
//
// It takes DATABASE_URL and API_TOKEN from its environment and refuses to
// start without them. It shows the names of its environment variables at
// /env-names, never a value.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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
	address, token := os.Getenv("DATABASE_URL"), os.Getenv("API_TOKEN")
	switch {
	case address == "":
		return errors.New("DATABASE_URL is not set; give it a postgres:// URL")
	case token == "":
		return errors.New("API_TOKEN is not set; give it any secret text")
	}
	info, err := release.Read(release.Path)
	if err != nil {
		return err
	}
	// One tag of the demonstration cannot start, to show a failed deployment.
	if info.Has("crash-on-start") {
		return errors.New("checkout: the table \"vouchers\" is not there")
	}
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return errors.New("DATABASE_URL is not a PostgreSQL URL") // the cause may quote it
	}
	defer pool.Close()
	s := server{pool: pool, token: token, info: info, log: log}
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
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close() // streams under way do not end by themselves
	}
	return nil
}

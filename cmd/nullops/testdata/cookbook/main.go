// Command cookbook stands in for the images that the cookbook names and that cannot be pulled where
// tests run: all but PostgreSQL. It does what each has to do for its stack to work: a service
// reaches those that its variables name, an application uses its database, a job ends.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch {
	case slices.Contains(args, "psql"):
		dump, err := os.ReadFile(args[len(args)-1])
		if err != nil {
			return err
		}
		// pgx reads PGHOST, PGUSER and PGPASSWORD, as psql does.
		return execute(ctx, "dbname=postgres sslmode=disable", string(dump))
	case slices.Contains(args, "migrate"):
		return execute(ctx, os.Getenv("DATABASE_URL"), "CREATE TABLE goods (name text)")
	case slices.Contains(args, "work"):
		if err := execute(ctx, os.Getenv("DATABASE_URL"),
			"INSERT INTO goods VALUES ('from the worker')"); err != nil {
			return err
		}
	case slices.Contains(args, "--once"):
		_, err := describePeers(ctx)
		return err
	}
	return serve()
}

// execute waits for the server, whose port may be open before it answers.
func execute(ctx context.Context, database, statements string) error {
	for {
		conn, err := pgx.Connect(ctx, database)
		if err == nil {
			_, err = conn.PgConn().Exec(ctx, statements).ReadAll()
			_ = conn.Close(ctx)
			return err
		}
		if ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// serve listens where any service of the cookbook does.
func serve() error {
	failed := make(chan error)
	for _, port := range []string{"4222", "8080", "9000", "9090", "9200"} {
		go func() { failed <- http.ListenAndServe(":"+port, http.HandlerFunc(answer)) }()
	}
	return <-failed
}

// answer lists the peers, and what is in the database. Without one of them, it is not well.
func answer(w http.ResponseWriter, r *http.Request) {
	text, err := describePeers(r.Context())
	if err == nil && os.Getenv("DATABASE_URL") != "" {
		var goods string
		goods, err = readGoods(r.Context())
		text += goods
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprint(w, text)
}

// describePeers connects to each service that a variable names. Addresses for browsers are shown
// only: they lead to the ingress.
func describePeers(ctx context.Context) (text string, err error) {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasSuffix(name, "_URL") && !strings.HasSuffix(name, "_ADDRESS") &&
			!strings.HasSuffix(name, "_ISSUER") {
			continue
		}
		address := value
		if at, err := url.Parse(value); err == nil && at.Host != "" {
			address = at.Host
		}
		host, _, _ := net.SplitHostPort(address)
		if !strings.HasSuffix(host, ".localhost") {
			conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			_ = conn.Close()
		}
		if name != "DATABASE_URL" { // it has a password
			text += name + "=" + value + "\n"
		}
	}
	return text, nil
}

func readGoods(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SELECT name FROM goods ORDER BY name")
	if err != nil {
		return "", err
	}
	goods, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(goods, "\n") + "\n", err
}

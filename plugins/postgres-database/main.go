// Command postgres-database is a plugin that gives a deployment a database of
// its own on a PostgreSQL server: a role with a generated password and a
// database that belongs to it. Its delete drops both; its check signs in as the
// role.
//
// Both actions may be repeated. A second create keeps the database and its
// rows and sets a new password, so that a lost answer costs nothing; a second
// delete finds nothing and succeeds.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createDatabase, Delete: removeDatabase, Check: checkDatabase})
}

type parameters struct {
	Host           string  `json:"host"`
	Port           int     `json:"port"`
	AdminUser      string  `json:"admin_user"`
	AdminDatabase  string  `json:"admin_database"`
	SSLMode        string  `json:"sslmode"`
	Database       string  `json:"database"`
	User           string  `json:"user"`
	ConnectSeconds float64 `json:"connect_seconds"`
}

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{
		Port: 5432, AdminUser: "postgres", AdminDatabase: "postgres",
		SSLMode: "disable", ConnectSeconds: 30,
	}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	if p.User == "" {
		p.User = p.Database
	}
	if p.Host == "" || p.Database == "" {
		return p, errors.New("parameters \"host\" and \"database\" are required")
	}
	if req.Secrets["adminPassword"] == "" {
		return p, errors.New("secret \"adminPassword\" is required; " +
			"map it to a reference such as ${{ secrets.DB_ADMIN_PASSWORD }}")
	}
	// PostgreSQL cuts longer names short without an error, and two deployments
	// could then meet in one database.
	for _, one := range []struct{ name, value string }{
		{"database", p.Database}, {"user", p.User},
	} {
		if n := len(one.value); n > 63 {
			return p, fmt.Errorf("parameter %q has %d bytes; PostgreSQL allows 63", one.name, n)
		}
	}
	if p.User == p.AdminUser || p.Database == p.AdminDatabase {
		return p, errors.New("parameters \"database\" and \"user\" must differ from the admin's own")
	}
	return p, nil
}

func createDatabase(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	admin, err := connectAdmin(ctx, p, p.AdminDatabase, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeConn(ctx, admin)
	// Letters and digits only: it goes into a URL and possibly into shells.
	password := rand.Text()
	if err := ensureRole(ctx, admin, p.User, password, log); err != nil {
		return stdio.Response{}, err
	}
	if err := ensureDatabase(ctx, admin, p, log); err != nil {
		return stdio.Response{}, err
	}
	// The answer is a promise that the credentials work, so try them.
	own, err := dialServer(ctx, p, p.User, p.Database, password)
	if err != nil {
		return stdio.Response{}, fmt.Errorf("sign in as the new role %q: %w", p.User, err)
	}
	closeConn(ctx, own)
	log.Info("the new role can sign in", "user", p.User, "database", p.Database)
	return createdResponse(p, password), nil
}

func createdResponse(p parameters, password string) stdio.Response {
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("database %s on %s is ready for %s", p.Database, p.Host, p.User),
		Outputs: map[string]any{
			"host": p.Host, "port": p.Port, "database": p.Database, "user": p.User,
			"password": password, "connectionString": connectionURL(p, p.User, p.Database, password),
		},
		Metadata: []stdio.Metadatum{
			{Name: "Database", Value: p.Database},
			{Name: "Server", Value: net.JoinHostPort(p.Host, strconv.Itoa(p.Port))},
		},
	}
}

func removeDatabase(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	// What create really made counts, should the parameters differ by now.
	var made struct {
		Database string `json:"database"`
		User     string `json:"user"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.Database != "" {
		p.Database, p.User = made.Database, made.User
	}
	admin, err := connectAdmin(ctx, p, p.AdminDatabase, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeConn(ctx, admin)
	if err := dropDatabase(ctx, admin, p); err != nil {
		return stdio.Response{}, err
	}
	log.Info("dropped", "database", p.Database, "user", p.User)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("database %s and role %s are gone", p.Database, p.User),
	}, nil
}

// checkDatabase signs in with what create returned. It fails if the database was dropped or the
// role's password was changed since.
func checkDatabase(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	var made struct {
		Database string `json:"database"`
		User     string `json:"user"`
		Password string `json:"password"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.Database == "" {
		return stdio.Response{}, errors.New("create has not said which database it made")
	}
	own, err := dialServer(ctx, p, made.User, made.Database, made.Password)
	if err != nil {
		return stdio.Response{}, fmt.Errorf("sign in to database %s as %s: %w", made.Database,
			made.User, err)
	}
	closeConn(ctx, own)
	log.Info("the role can sign in", "user", made.User, "database", made.Database)
	return stdio.Response{Success: true,
		Output: fmt.Sprintf("%s can sign in to database %s", made.User, made.Database)}, nil
}

// connectionURL is a connection URL; it holds the password.
func connectionURL(p parameters, user, database, password string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password),
		Host: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), Path: "/" + database,
		RawQuery: url.Values{"sslmode": {p.SSLMode}}.Encode(),
	}
	return u.String()
}

func dialServer(
	ctx context.Context,
	p parameters,
	user, database, password string,
) (*pgx.Conn, error) {
	// Bounded, or a port that swallows packets would eat the whole timeout.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return pgx.Connect(ctx, connectionURL(p, user, database, password))
}

// connectAdmin tries until the server lets the admin in: a fresh server accepts
// connections shortly before it accepts sessions.
func connectAdmin(ctx context.Context, p parameters, database, password string, log *slog.Logger) (
	*pgx.Conn, error,
) {
	var conn *pgx.Conn
	err := wait.Retry{
		Every: 500 * time.Millisecond, For: wait.Seconds(p.ConnectSeconds),
		IsFinal: func(err error) bool { return !worthRetrying(err) },
		Failed: func(attempt, limit int) {
			log.Warn("the server does not answer yet", "try", attempt, "of", limit)
		},
	}.Do(ctx, func() (err error) {
		conn, err = dialServer(ctx, p, p.AdminUser, database, password)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s as %s: %w", p.Host, p.AdminUser, err)
	}
	log.Info("connected", "host", p.Host, "port", p.Port, "user", p.AdminUser)
	return conn, nil
}

func closeConn(ctx context.Context, c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = c.Close(ctx) // the work is committed; the server notices a lost goodbye
}

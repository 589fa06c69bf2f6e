// Command mysql-database is a plugin that gives a deployment a database of its
// own on a MySQL or MariaDB server: an account with a generated password and a
// database on which it may do everything. Its delete drops both; its check signs
// in as the account.
//
// Both actions may be repeated. A second create keeps the database and its
// rows and sets a new password; a second delete finds nothing and succeeds.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createDatabase, Delete: removeDatabase, Check: checkDatabase})
}

type parameters struct {
	Host           string  `json:"host"`
	Port           int     `json:"port"`
	AdminUser      string  `json:"admin_user"`
	TLS            string  `json:"tls"`
	Database       string  `json:"database"`
	User           string  `json:"user"`
	UserHost       string  `json:"user_host"`
	ConnectSeconds float64 `json:"connect_seconds"`
}

// Longest names in characters: MySQL's 32 for an account is the smaller one
// (MariaDB allows 80), and 64 is both servers' limit for a database.
const maxUser, maxDatabase = 32, 64

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{
		Port: 3306, AdminUser: "root", TLS: "false", UserHost: "%", ConnectSeconds: 60,
	}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	if p.User == "" {
		p.User = p.Database
	}
	switch {
	case p.Host == "" || p.Database == "":
		return p, errors.New("parameters \"host\" and \"database\" are required")
	case req.Secrets["adminPassword"] == "":
		return p, errors.New("secret \"adminPassword\" is required; " +
			"map it to a reference such as ${{ secrets.DB_ADMIN_PASSWORD }}")
	case len(p.User) > maxUser:
		return p, fmt.Errorf("parameter \"user\" has %d bytes; MySQL allows %d; "+
			"give one if it comes from \"database\"", len(p.User), maxUser)
	case len(p.Database) > maxDatabase:
		return p, fmt.Errorf("parameter \"database\" has %d bytes; MySQL allows %d",
			len(p.Database), maxDatabase)
	case p.User == p.AdminUser || systemDatabase(p.Database):
		return p, errors.New("parameters \"database\" and \"user\" must not be the server's own")
	}
	return p, nil
}

// systemDatabase tells those whose loss would be the server's.
func systemDatabase(name string) bool {
	switch name {
	case "mysql", "sys", "information_schema", "performance_schema":
		return true
	}
	return false
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
	admin, err := connectAdmin(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeDB(admin)
	// Letters and digits only: it goes into a URL and possibly into shells.
	password := rand.Text()
	if err := ensureDatabase(ctx, admin, p, password); err != nil {
		return stdio.Response{}, err
	}
	// The answer is a promise that the credentials work, so try them.
	own, err := openDB(p, p.User, password, p.Database)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeDB(own)
	if err := own.PingContext(ctx); err != nil {
		return stdio.Response{}, fmt.Errorf("sign in as the new account %q: %w", p.User, err)
	}
	log.Info("the new account can sign in", "user", p.User, "database", p.Database)
	return createdResponse(p, password), nil
}

func createdResponse(p parameters, password string) stdio.Response {
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("database %s on %s is ready for %s", p.Database, p.Host, p.User),
		Outputs: map[string]any{
			"host": p.Host, "port": p.Port, "database": p.Database, "user": p.User,
			"password": password, "connectionString": connectionURL(p, password),
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
	if made.Database != "" && made.User != "" {
		p.Database, p.User = made.Database, made.User
	}
	admin, err := connectAdmin(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeDB(admin)
	if err := dropDatabase(ctx, admin, p); err != nil {
		return stdio.Response{}, err
	}
	log.Info("dropped", "database", p.Database, "user", p.User)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("database %s and account %s are gone", p.Database, p.User),
	}, nil
}

// checkDatabase signs in with what create returned. It fails if the database was dropped or the
// account was changed since.
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
	own, err := openDB(p, made.User, made.Password, made.Database)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeDB(own)
	if err := own.PingContext(ctx); err != nil {
		return stdio.Response{}, fmt.Errorf("sign in to database %s as %s: %w", made.Database,
			made.User, err)
	}
	log.Info("the account can sign in", "user", made.User, "database", made.Database)
	return stdio.Response{Success: true,
		Output: fmt.Sprintf("%s can sign in to database %s", made.User, made.Database)}, nil
}

// closeDB ends the sessions; the work is done and a lost goodbye costs nothing.
func closeDB(db *sql.DB) { _ = db.Close() }

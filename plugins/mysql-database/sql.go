package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nullops/nullops/internal/wait"
)

// Codes of the servers' errors, the same in MySQL and MariaDB.
const (
	codeAccessDenied    = 1045
	codeDatabaseDenied  = 1044
	codeHostNotAllowed  = 1130
	codePluginNotLoaded = 1524
)

// openDB prepares sessions; none is begun yet. The driver gets a connector and
// no text, so that no password can end up in an error about a bad address.
func openDB(p parameters, user, password, database string) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", net.JoinHostPort(p.Host, strconv.Itoa(p.Port))
	c.User, c.Passwd, c.DBName = user, password, database
	c.TLSConfig = p.TLS
	c.Timeout, c.ReadTimeout, c.WriteTimeout = 5*time.Second, time.Minute, time.Minute
	// Its lines would come without the level of ours.
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("parameter \"tls\": %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// connectAdmin tries until the server lets the admin in: a fresh server accepts
// connections shortly before it accepts sessions.
func connectAdmin(ctx context.Context, p parameters, password string, log *slog.Logger) (
	*sql.DB, error,
) {
	db, err := openDB(p, p.AdminUser, password, "")
	if err != nil {
		return nil, err
	}
	err = wait.Retry{
		Every: 500 * time.Millisecond, For: wait.Seconds(p.ConnectSeconds),
		IsFinal: func(err error) bool { return !worthRetrying(err) },
		Failed: func(attempt, limit int) {
			log.Warn("the server does not answer yet", "try", attempt, "of", limit)
		},
	}.Do(ctx, func() error { return db.PingContext(ctx) })
	if err != nil {
		closeDB(db)
		return nil, fmt.Errorf("connect to %s as %s: %w", p.Host, p.AdminUser, err)
	}
	log.Info("connected", "host", p.Host, "port", p.Port, "user", p.AdminUser)
	return db, nil
}

// worthRetrying is false for what more time cannot mend.
func worthRetrying(err error) bool {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return true
	}
	switch answer.Number {
	case codeAccessDenied, codeDatabaseDenied, codeHostNotAllowed, codePluginNotLoaded:
		return false
	}
	return true
}

// ensureDatabase makes what is missing and sets the password. None of the statements
// takes parameters, so names and values are quoted here.
func ensureDatabase(ctx context.Context, db *sql.DB, p parameters, password string) error {
	who := quoteAccount(p)
	steps := []struct{ what, statement string }{
		{"create database " + p.Database, "CREATE DATABASE IF NOT EXISTS " + quoteName(p.Database)},
		{"create account " + p.User, "CREATE USER IF NOT EXISTS " + who},
		{"set the password of " + p.User, "ALTER USER " + who + " IDENTIFIED BY " + quoteText(password)},
		{"open the database to " + p.User, "GRANT ALL PRIVILEGES ON " + quotePattern(p.Database) +
			".* TO " + who},
	}
	for _, s := range steps {
		if _, err := db.ExecContext(ctx, s.statement); err != nil {
			return fmt.Errorf("%s: %w", s.what, hidePassword(err, password))
		}
	}
	return nil
}

// hidePassword removes a password from an error: both servers quote the part of a statement
// that they could not parse.
func hidePassword(err error, password string) error {
	if strings.Contains(err.Error(), password) {
		return errors.New("the server does not understand the statement")
	}
	return err
}

// dropDatabase removes both, whether or not they exist. The account goes first and its
// sessions are ended: a session that is open would hold locks on tables.
func dropDatabase(ctx context.Context, db *sql.DB, p parameters) error {
	if _, err := db.ExecContext(ctx, "DROP USER IF EXISTS "+quoteAccount(p)); err != nil {
		return fmt.Errorf("drop account %s: %w", p.User, err)
	}
	if err := endSessions(ctx, db, p.User); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoteName(p.Database)); err != nil {
		return fmt.Errorf("drop database %s: %w", p.Database, err)
	}
	return nil
}

func endSessions(ctx context.Context, db *sql.DB, user string) error {
	rows, err := db.QueryContext(ctx,
		"SELECT id FROM information_schema.processlist WHERE user = ?", user)
	if err != nil {
		return fmt.Errorf("look for sessions of %s: %w", user, err)
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return fmt.Errorf("look for sessions of %s: %w", user, err)
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("look for sessions of %s: %w", user, err)
	}
	for _, id := range ids {
		// One that has just ended by itself is an error and no reason to stop.
		_, _ = db.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10))
	}
	return nil
}

// quoteName quotes an identifier.
func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// quotePattern quotes a database in a grant, where _ and % would match other names.
func quotePattern(s string) string {
	return quoteName(strings.NewReplacer(`\`, `\\`, `_`, `\_`, `%`, `\%`).Replace(s))
}

// quoteText quotes a value.
func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

func quoteAccount(p parameters) string { return quoteText(p.User) + "@" + quoteText(p.UserHost) }

// connectionURL is a connection URL; it holds the password.
func connectionURL(p parameters, password string) string {
	u := url.URL{
		Scheme: "mysql", User: url.UserPassword(p.User, password),
		Host: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), Path: "/" + p.Database,
	}
	return u.String()
}

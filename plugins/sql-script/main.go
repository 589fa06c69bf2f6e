// Command sql-script is a plugin that runs SQL scripts on a PostgreSQL server,
// all of them in one transaction: either every script took effect or none.
//
// Its delete has nothing to do: what a script did goes with its database.
// Scripts are logged by name, never by text, since a script may hold secrets.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: runScripts, Delete: stdio.NothingToUndo})
}

type parameters struct {
	ConnectionString string   `json:"connection_string"`
	Scripts          []script `json:"scripts"`
}

type script struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
}

func runScripts(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	var p parameters
	if err := req.Bind(&p); err != nil {
		return stdio.Response{}, err
	}
	if given := req.Secrets["connectionString"]; given != "" {
		p.ConnectionString = given
	}
	switch {
	case p.ConnectionString == "":
		return stdio.Response{}, errors.New("map the secret \"connectionString\" " +
			"to a reference such as ${{ steps.database.outputs.connectionString }}")
	case len(p.Scripts) == 0:
		return stdio.Response{}, errors.New("parameter \"scripts\" is empty; give at least one")
	}
	conn, err := connectDB(ctx, p.ConnectionString)
	if err != nil {
		return stdio.Response{}, err
	}
	defer closeConn(ctx, conn)
	log.Info("connected", "host", conn.Config().Host, "database", conn.Config().Database)
	return runAll(ctx, conn, p.Scripts, log)
}

func connectDB(ctx context.Context, address string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		// The cause may quote the string, and with it the password.
		return nil, errors.New("the connection string is not a PostgreSQL URL; " +
			"write postgres://user:password@host:port/database")
	}
	config.ConnectTimeout = 10 * time.Second
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s as %s: %w", config.Host, config.User, err)
	}
	return conn, nil
}

func runAll(ctx context.Context, conn *pgx.Conn, scripts []script, log *slog.Logger) (
	stdio.Response, error,
) {
	started := time.Now()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return stdio.Response{}, fmt.Errorf("begin: %w", err)
	}
	var rows int64
	for i, s := range scripts {
		n, err := runOne(ctx, tx.Conn(), s, log.With("script", s.Name,
			"number", fmt.Sprintf("%d/%d", i+1, len(scripts))))
		if err != nil {
			rollBackTx(ctx, tx, log)
			if errors.Is(err, errEnded) {
				return stdio.Response{}, fmt.Errorf("script %q: %w", s.Name, err)
			}
			return stdio.Response{}, fmt.Errorf("script %q: %w; nothing was changed", s.Name, err)
		}
		rows += n
	}
	if err := tx.Commit(ctx); err != nil {
		return stdio.Response{}, fmt.Errorf("commit: %w", err)
	}
	took := time.Since(started).Round(time.Millisecond)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("%d scripts, %d rows, %s", len(scripts), rows, took),
		Outputs: map[string]any{"scripts": len(scripts), "rows": rows},
		Metadata: []stdio.Metadatum{
			{Name: "Scripts", Value: strconv.Itoa(len(scripts))},
			{Name: "Rows", Value: strconv.FormatInt(rows, 10)},
		},
	}, nil
}

// runOne runs one script of any number of statements and counts their rows.
func runOne(ctx context.Context, conn *pgx.Conn, s script, log *slog.Logger) (int64, error) {
	started := time.Now()
	var rows int64
	results := conn.PgConn().Exec(ctx, s.SQL)
	statements, ended := 0, false
	for results.NextResult() {
		tag, err := results.ResultReader().Close()
		if err != nil {
			break // Close below reports it, and drains the rest
		}
		statements++
		rows += tag.RowsAffected()
		ended = ended || endsTransaction(tag)
	}
	if err := results.Close(); err != nil {
		return 0, addLineNumber(err, s.SQL)
	}
	if ended {
		return 0, errEnded
	}
	log.Info("done", "statements", statements, "rows", rows,
		"took", time.Since(started).Round(time.Millisecond))
	return rows, nil
}

// errEnded is the one failure after which something may have been changed.
var errEnded = errors.New("it ended the common transaction, so what came before may " +
	"have been saved; remove its COMMIT or ROLLBACK")

// endsTransaction tells a script's own COMMIT, which breaks our promise of all
// or nothing. The server's word counts: reading the SQL text would be a guess.
func endsTransaction(tag pgconn.CommandTag) bool {
	switch tag.String() {
	case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION":
		return true
	default:
		return false
	}
}

// addLineNumber adds the line of the script to an error, which its author needs; a character offset
// does not say it.
func addLineNumber(err error, sql string) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Position <= 0 {
		return err
	}
	line := 1
	for i, r := range []rune(sql) {
		if int32(i) >= pg.Position-1 {
			break
		}
		if r == '\n' {
			line++
		}
	}
	return fmt.Errorf("line %d: %w", line, err)
}

func rollBackTx(ctx context.Context, tx pgx.Tx, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		// The server rolls back by itself when the connection ends.
		log.Warn("roll back", "error", err)
	}
}

func closeConn(ctx context.Context, c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = c.Close(ctx) // the work is committed; the server notices a lost goodbye
}

package pgtest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane/postgres"
)

// rowFiles hold rows of each table, in the file of the migration that creates it: a
// database of that age, in use.
//
//go:embed rows/*.sql
var rowFiles embed.FS

// NewFilledDatabase returns the URL of a database with rows in each table. Like an empty schema,
// it is made once for a server, as MigrateWithRows does, and then copied.
func NewFilledDatabase(t testing.TB, files fs.FS) string {
	t.Helper()
	admin := serverURL(t)
	schema, err := hashOf(files)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := hashFiles(rowFiles, "rows/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	template, err := ensureTemplate(t.Context(), admin, "nullops_filled_"+schema[:8]+rows[:8],
		filledLock, func(ctx context.Context, dsn string) error {
			return migrateWithRows(ctx, dsn, files)
		})
	if err != nil {
		t.Fatalf("make a filled template database: %v", err)
	}
	return cloneDatabase(t, admin, template)
}

// MigrateWithRows migrates an empty database one version at a time, and inserts rows into each
// table as soon as it exists. Each migration therefore meets rows that were written under an
// earlier schema. The test fails if a migration fails or loses rows, or if a table stays empty: a
// new table needs a file in rows.
func MigrateWithRows(t testing.TB, files fs.FS) {
	t.Helper()
	if err := migrateWithRows(t.Context(), NewEmptyDatabase(t), files); err != nil {
		t.Fatal(err)
	}
}

func migrateWithRows(ctx context.Context, dsn string, files fs.FS) error {
	store, err := postgres.Open(ctx, postgres.Config{URL: dsn, MaxConns: 4})
	if err != nil {
		return err
	}
	defer store.Close()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	states, err := store.MigrationStates(ctx, files)
	if err != nil {
		return err
	}
	before := map[string]int64{}
	for _, s := range states {
		if err := store.MigrateTo(ctx, files, s.Version); err != nil {
			return fmt.Errorf("migrate a database with rows: %w", err)
		}
		now, err := countRows(ctx, conn)
		if err != nil {
			return err
		}
		for table, count := range before {
			if left, exists := now[table]; exists && left < count {
				return fmt.Errorf("migration %d leaves %d of %d rows in %s",
					s.Version, left, count, table)
			}
		}
		if before, err = insertRows(ctx, conn, s.Version, now); err != nil {
			return err
		}
	}
	var empty []error
	for table, count := range before {
		if count == 0 {
			empty = append(empty, fmt.Errorf(
				"table %s has no rows: add some to controlplane/postgres/pgtest/rows", table))
		}
	}
	return errors.Join(empty...)
}

// insertRows inserts the rows of a version, if there are any, and returns how many each table has.
func insertRows(ctx context.Context, conn *pgx.Conn, version int64, counted map[string]int64,
) (map[string]int64, error) {
	rows, err := rowFiles.ReadFile(fmt.Sprintf("rows/%05d.sql", version))
	if errors.Is(err, fs.ErrNotExist) {
		return counted, nil
	}
	if err == nil {
		_, err = conn.Exec(ctx, string(rows))
	}
	if err != nil {
		return nil, fmt.Errorf("insert the rows of version %d: %w", version, err)
	}
	return countRows(ctx, conn)
}

// CountRows returns the number of rows of each table of the product.
func CountRows(t testing.TB, url string) (counts map[string]int64) {
	t.Helper()
	withConnection(t, url, func(conn *pgx.Conn) (err error) {
		counts, err = countRows(t.Context(), conn)
		return err
	})
	return counts
}

func countRows(ctx context.Context, conn *pgx.Conn) (map[string]int64, error) {
	rows, err := conn.Query(ctx, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
		AND table_name <> 'goose_db_version'`)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	counts := map[string]int64{}
	for _, table := range tables {
		if counts[table], err = countOf(ctx, conn, table); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func countOf(ctx context.Context, conn *pgx.Conn, table string) (count int64, err error) {
	err = conn.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize()).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count rows of %s: %w", table, err)
	}
	return count, nil
}

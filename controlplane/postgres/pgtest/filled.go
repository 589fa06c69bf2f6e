package pgtest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"
)

// rowFiles hold rows of each table, in the file of the migration that creates it: a
// database of that age, in use.
//
//go:embed rows/*.sql
var rowFiles embed.FS

// NewFilledDatabase migrates an empty database one version at a time, inserts rows into each
// table as soon as it exists, and returns the URL. Each migration therefore meets
// rows that were written under an earlier schema. The test fails if a migration
// fails or loses rows, or if a table stays empty: a new table needs a file in rows.
func NewFilledDatabase(t testing.TB, files fs.FS) string {
	t.Helper()
	url := NewEmptyDatabase(t)
	store := Open(t, url)
	states, err := store.MigrationStates(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]int64{}
	for _, s := range states {
		if err := store.MigrateTo(t.Context(), files, s.Version); err != nil {
			t.Fatalf("migrate a database with rows: %v", err)
		}
		now := CountRows(t, url)
		for table, count := range before {
			if left, exists := now[table]; exists && left < count {
				t.Errorf("migration %d leaves %d of %d rows in %s", s.Version, left, count, table)
			}
		}
		if rows, err := rowFiles.ReadFile(fmt.Sprintf("rows/%05d.sql", s.Version)); err == nil {
			Exec(t, url, string(rows))
			now = CountRows(t, url)
		}
		before = now
	}
	for table, count := range before {
		if count == 0 {
			t.Errorf("table %s has no rows: add some to controlplane/postgres/pgtest/rows", table)
		}
	}
	return url
}

// CountRows returns the number of rows of each table of the product.
func CountRows(t testing.TB, url string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	withConnection(t, url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(t.Context(), `SELECT table_name FROM information_schema.tables
			WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
			AND table_name <> 'goose_db_version'`)
		if err != nil {
			return fmt.Errorf("list tables: %w", err)
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("list tables: %w", err)
		}
		for _, table := range tables {
			if counts[table], err = countOf(t.Context(), conn, table); err != nil {
				return err
			}
		}
		return nil
	})
	return counts
}

func countOf(ctx context.Context, conn *pgx.Conn, table string) (count int64, err error) {
	err = conn.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize()).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count rows of %s: %w", table, err)
	}
	return count, nil
}

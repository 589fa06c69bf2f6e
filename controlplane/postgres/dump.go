package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// DumpTable is one table of a dump, in PostgreSQL's binary COPY format.
type DumpTable struct {
	Name    string
	Columns []string
}

// Dumper takes the tables of a dump one after the other: Table begins one, and
// what is written until the next belongs to it.
type Dumper interface {
	Table(t DumpTable) (io.Writer, error)
}

// Dump writes every row of the database in one consistent snapshot, referenced tables
// first. It returns the version of the schema.
func (s *Store) Dump(ctx context.Context, files fs.FS, to Dumper) (schema int64, err error) {
	if schema, err = s.readSchemaVersion(ctx, files); err != nil {
		return 0, err
	}
	return schema, s.Read(ctx, func(t *Tx) error {
		tables, err := t.dump().listTables(ctx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			w, err := to.Table(table)
			if err != nil {
				return err
			}
			if _, err = t.tx.Conn().PgConn().CopyTo(ctx, w,
				"COPY "+columnsOf(table)+" TO STDOUT (FORMAT binary)"); err != nil {
				return fmt.Errorf("dump table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

func (s *Store) readSchemaVersion(ctx context.Context, files fs.FS) (version int64, err error) {
	err = withProvider(s.pool, files, func(p *goose.Provider) error {
		version, err = p.GetDBVersion(ctx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}

// Loader returns the tables of a dump one after the other, in their order, and io.EOF
// after the last.
type Loader interface {
	Table() (DumpTable, io.Reader, error)
}

// Load fills an empty database: the schema of the dump and its rows, or nothing
// at all. The caller migrates on from there.
func (s *Store) Load(
	ctx context.Context, files fs.FS, schema int64, from Loader,
) (err error) {
	if err := s.refuseFilled(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.emptyAgain(context.WithoutCancel(ctx), files))
		}
	}()
	if err := s.MigrateTo(ctx, files, schema); err != nil {
		return err
	}
	return s.tryTx(ctx, pgx.TxOptions{}, func(t *Tx) error { return t.dump().load(ctx, from) })
}

// emptyAgain takes back what a failed Load made.
func (s *Store) emptyAgain(ctx context.Context, files fs.FS) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.MigrateTo(ctx, files, 0); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, "DROP TABLE goose_db_version"); err != nil {
		return fmt.Errorf("empty the database again: %w", err)
	}
	return nil
}

func (t dump) load(ctx context.Context, from Loader) error {
	tables, err := t.listTables(ctx)
	if err != nil {
		return err
	}
	// Delete what migrations inserted, since the dump has it too. Disable triggers:
	// loading is no change to notify of.
	for _, table := range slices.Backward(tables) {
		name := pgx.Identifier{table.Name}.Sanitize()
		if _, err := t.tx.tx.Exec(ctx, "ALTER TABLE "+name+" DISABLE TRIGGER USER; "+
			"DELETE FROM "+name); err != nil {
			return fmt.Errorf("empty table %s: %w", table.Name, err)
		}
	}
	if err := t.copyTables(ctx, from); err != nil {
		return err
	}
	for _, table := range tables {
		if err := t.finishTable(ctx, table.Name); err != nil {
			return err
		}
	}
	if err := t.restartTimes(ctx); err != nil {
		return err
	}
	// Agents remember the newest epoch that commanded them, and may have seen
	// newer ones than the dump.
	_, err = t.tx.tx.Exec(ctx,
		`UPDATE node_leases SET epoch = epoch + (1 << 20), expires_at = now()`)
	if err != nil {
		return fmt.Errorf("move the leases' epochs: %w", err)
	}
	return nil
}

// restartTimes restarts every deployment's lifetime, and every run under way its
// whole time until its deadline. The dump does not know who used what since it was made: by
// its times, everything in it may have ended, and would be removed with its data.
func (t dump) restartTimes(ctx context.Context) error {
	_, err := t.tx.tx.Exec(ctx, `DO $$ BEGIN
		IF EXISTS (SELECT FROM information_schema.columns WHERE table_schema = 'public'
			AND table_name = 'deployments' AND column_name = 'active_at') THEN
			UPDATE deployments SET active_at = now()
			WHERE status NOT IN ('canceled', 'removed', 'forgotten');
			UPDATE queue q SET deadline = now() + (q.deadline - q.queued_at) FROM runs r
			WHERE r.id = q.run_id AND r.ended_at IS NULL AND q.deadline IS NOT NULL;
		END IF;
	END $$`)
	if err != nil {
		return fmt.Errorf("restart lifetimes and deadlines: %w", err)
	}
	return nil
}

func (t dump) copyTables(ctx context.Context, from Loader) error {
	for {
		table, r, err := from.Table()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = t.tx.tx.Conn().PgConn().CopyFrom(ctx, r,
			"COPY "+columnsOf(table)+" FROM STDIN (FORMAT binary)")
		if err != nil {
			return fmt.Errorf("load table %s: %w", table.Name, err)
		}
	}
}

// finishTable enables the triggers again, and sets the sequences past the loaded rows.
func (t dump) finishTable(ctx context.Context, table string) error {
	name := pgx.Identifier{table}.Sanitize()
	if _, err := t.tx.tx.Exec(ctx, "ALTER TABLE "+name+" ENABLE TRIGGER USER"); err != nil {
		return fmt.Errorf("finish table %s: %w", table, err)
	}
	rows, err := t.tx.tx.Query(ctx, `SELECT column_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name = $1 AND is_identity = 'YES'`, table)
	if err != nil {
		return fmt.Errorf("finish table %s: %w", table, err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("finish table %s: %w", table, err)
	}
	for _, column := range columns {
		_, err := t.tx.tx.Exec(ctx, fmt.Sprintf(
			"SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(%s), 0) + 1, false) FROM %s",
			pgx.Identifier{column}.Sanitize(), name), table, column)
		if err != nil {
			return fmt.Errorf("set the counter of %s.%s: %w", table, column, err)
		}
	}
	return nil
}

// refuseFilled wants a database without tables.
func (s *Store) refuseFilled(ctx context.Context) error {
	var tables int
	err := s.pool.QueryRow(ctx,
		"SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables)
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	if tables > 0 {
		return fmt.Errorf("the database is not empty, it has %d tables: "+
			"make a new one and restore into that", tables)
	}
	return nil
}

// listTables lists ours with their columns, so that each comes after those it
// refers to.
func (t dump) listTables(ctx context.Context) ([]DumpTable, error) {
	rows, err := t.tx.tx.Query(ctx, `WITH RECURSIVE ours AS (
			SELECT c.oid, c.relname::text AS name FROM pg_class c
			JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
				AND c.relname <> 'goose_db_version'
		), depth (oid, n) AS (
			SELECT oid, 0 FROM ours
			UNION SELECT f.conrelid, d.n + 1 FROM depth d
			JOIN pg_constraint f ON f.confrelid = d.oid AND f.contype = 'f' AND f.conrelid <> f.confrelid
			WHERE d.n < 50
		)
		SELECT o.name, (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
			WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')
		FROM ours o ORDER BY (SELECT max(n) FROM depth d WHERE d.oid = o.oid), o.name`)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DumpTable])
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	return all, nil
}

func columnsOf(t DumpTable) string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = pgx.Identifier{c}.Sanitize()
	}
	return pgx.Identifier{t.Name}.Sanitize() + " (" + strings.Join(names, ", ") + ")"
}

// Package backup writes the whole database into one encrypted file and reads it back into an empty
// one. The file is useless without the master key; a wrong key is reported as such. A file that was
// cut off, changed, or whose pieces were moved is refused before anything stays in the database.
// With volumes, a backup is a folder: see Folder.
//
// A file is a line that says what it is, sixteen random bytes that name it,
// and pieces: four bytes of length, one that says whether it is the last, and
// that many sealed bytes. Each piece is bound to the file, its number and
// whether it is the last. Inside are tables: a line of JSON, then blocks with
// four bytes of length in front, the last of them empty.
package backup

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// fileKind is what a sealed file is for: one kind is never taken for another. magic begins the
// file, with the format's number; table is part of what each piece is bound to.
type fileKind struct{ magic, table string }

var (
	databaseFile = fileKind{"nullops backup 1\n", "backup"}
	volumeFile   = fileKind{"nullops volume 1\n", "backup_volume"}
	indexFile    = fileKind{"nullops index 1\n", "backup_index"}
)

const (
	// pieceSize is how much is sealed at a time. Four times that much memory is
	// all that a backup of any size takes.
	pieceSize = 1 << 20
	// mostSealed bounds what a hostile length can ask for.
	mostSealed = pieceSize + 1<<12
)

// header says which schema the tables are of. It is the first line inside; the
// names of the tables guard against a dump that lost one.
type header struct {
	Schema int64  `json:"schema"`
	Build  string `json:"build"`
}

// Source is what a backup is made of.
type Source struct {
	Store *postgres.Store
	// Migrations are those of this release, which Build names.
	Migrations fs.FS
	Keys       *seal.Keyring
	Build      string
}

// Write writes the database's rows to the file, sealed under the first key.
func Write(ctx context.Context, actor access.Actor, s Source, to io.Writer) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	states, err := s.Store.MigrationStates(ctx, s.Migrations)
	if err != nil {
		return err
	}
	h := header{Build: s.Build}
	for _, m := range states {
		if m.Applied {
			h.Schema = max(h.Schema, m.Version)
		}
	}
	file, err := newWriter(databaseFile, s.Keys, to)
	if err != nil {
		return err
	}
	d := &dumpWriter{out: bufio.NewWriterSize(file, pieceSize)}
	if err := d.writeLine(h); err != nil {
		return err
	}
	schema, err := s.Store.Dump(ctx, s.Migrations, d)
	if err != nil {
		return err
	}
	if schema != h.Schema {
		return errors.New("the database was migrated meanwhile: start the backup again")
	}
	if err := d.writeEnd(); err != nil {
		return err
	}
	return file.close()
}

// dumpWriter writes tables into the sealed stream.
type dumpWriter struct {
	out  *bufio.Writer
	open bool
}

func (d *dumpWriter) writeLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = d.out.Write(append(b, '\n'))
	return err
}

// Table ends the table before and begins one.
func (d *dumpWriter) Table(t postgres.DumpTable) (io.Writer, error) {
	if err := d.endTable(); err != nil {
		return nil, err
	}
	d.open = true
	return blockWriter{d.out}, d.writeLine(t)
}

func (d *dumpWriter) endTable() error {
	if !d.open {
		return nil
	}
	d.open = false
	_, err := d.out.Write(make([]byte, 4))
	return err
}

// writeEnd writes a table without a name, which marks the end.
func (d *dumpWriter) writeEnd() error {
	return errors.Join(d.endTable(), d.writeLine(postgres.DumpTable{}), d.out.Flush())
}

// blockWriter puts a length in front of each write; an empty block ends a table.
type blockWriter struct{ out io.Writer }

func (b blockWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := binary.Write(b.out, binary.BigEndian, uint32(len(p))); err != nil {
		return 0, err
	}
	return b.out.Write(p)
}

// writer seals pieces.
type writer struct {
	kind  fileKind
	keys  *seal.Keyring
	out   io.Writer
	id    string
	n     int
	piece []byte
}

func newWriter(kind fileKind, keys *seal.Keyring, out io.Writer) (*writer, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	if _, err := out.Write(append([]byte(kind.magic), id...)); err != nil {
		return nil, fmt.Errorf("write backup: %w", err)
	}
	return &writer{kind: kind, keys: keys, out: out, id: hex.EncodeToString(id)}, nil
}

func (w *writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if len(w.piece) == pieceSize {
			if err := w.writePiece(false); err != nil {
				return 0, err
			}
		}
		n := min(pieceSize-len(w.piece), len(rest))
		w.piece, rest = append(w.piece, rest[:n]...), rest[n:]
	}
	return len(p), nil
}

func (w *writer) close() error { return w.writePiece(true) }

func (w *writer) writePiece(last bool) error {
	sealed, err := w.keys.Seal(w.kind.sealPlace(w.id, w.n, last), w.piece)
	if err != nil {
		return fmt.Errorf("seal backup: %w", err)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(sealed)))
	head = append(head, lastFlag(last))
	if _, err := w.out.Write(slices.Concat(head, sealed)); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	w.n++
	w.piece = w.piece[:0]
	return nil
}

func lastFlag(last bool) byte {
	if last {
		return 1
	}
	return 0
}

func (k fileKind) sealPlace(id string, n int, last bool) seal.Location {
	column := "piece"
	if last {
		column = "last"
	}
	return seal.Location{Table: k.table, Row: id, Column: column, Version: n}
}

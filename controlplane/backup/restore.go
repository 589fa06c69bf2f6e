package backup

import (
	"bufio"
	"context"
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

// ErrNoBackup means that the file is not a NullOps backup.
var ErrNoBackup = errors.New("this is not a backup that 'nullops backup' wrote")

// errDamaged is for a file that is cut off or was changed.
var errDamaged = errors.New("the backup is cut off or was changed: use another one")

// Read fills the empty database from a file. Nothing stays in it on failure.
func Read(ctx context.Context, actor access.Actor, store *postgres.Store, files fs.FS,
	keys *seal.Keyring, from io.Reader) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	file, err := newReader(databaseFile, keys, from)
	if err != nil {
		return err
	}
	l := &dumpReader{in: bufio.NewReaderSize(file, 1<<16)}
	var h header
	if err := l.readLine(&h); err != nil {
		return err
	}
	if err := checkNotNewer(files, h); err != nil {
		return err
	}
	return store.Load(ctx, files, h.Schema, l)
}

// checkNotNewer refuses a backup of a newer release than this program.
func checkNotNewer(files fs.FS, h header) error {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return err
	}
	newest := int64(0)
	for _, name := range names {
		var version int64
		if _, err := fmt.Sscanf(name, "%d_", &version); err == nil {
			newest = max(newest, version)
		}
	}
	if h.Schema < 1 || h.Schema > newest {
		return fmt.Errorf("the backup is from release %s with schema %d, this program knows %d: "+
			"restore it with that release or a newer one", h.Build, h.Schema, newest)
	}
	return nil
}

// dumpReader reads tables out of the sealed stream.
type dumpReader struct {
	in   *bufio.Reader
	rows *rowReader
}

func (l *dumpReader) readLine(into any) error {
	line, err := l.in.ReadSlice('\n')
	if err != nil {
		return asDamaged(err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return errDamaged
	}
	return nil
}

// Table returns the next table. It skips what was not read of the one before.
func (l *dumpReader) Table() (postgres.DumpTable, io.Reader, error) {
	var t postgres.DumpTable
	if l.rows != nil {
		if _, err := io.Copy(io.Discard, l.rows); err != nil {
			return t, nil, err
		}
	}
	if err := l.readLine(&t); err != nil {
		return t, nil, err
	}
	if t.Name == "" {
		return t, nil, l.nothingElse()
	}
	l.rows = &rowReader{in: l.in}
	return t, l.rows, nil
}

// nothingElse proves that the stream ends here, with its last piece.
func (l *dumpReader) nothingElse() error {
	_, err := l.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return asDamaged(err)
}

// rowReader reads blocks up to the empty one.
type rowReader struct {
	in   io.Reader
	left uint32
	done bool
}

func (r *rowReader) Read(p []byte) (int, error) {
	if r.done {
		return 0, io.EOF
	}
	if r.left == 0 {
		if err := binary.Read(r.in, binary.BigEndian, &r.left); err != nil {
			return 0, asDamaged(err)
		}
		if r.done = r.left == 0; r.done {
			return 0, io.EOF
		}
	}
	n, err := r.in.Read(p[:min(len(p), int(r.left))])
	r.left -= uint32(n)
	if errors.Is(err, io.EOF) {
		err = errDamaged
	}
	return n, err
}

// reader opens pieces.
type reader struct {
	kind  fileKind
	keys  *seal.Keyring
	in    io.Reader
	id    string
	n     int
	piece []byte
	last  bool
}

func newReader(kind fileKind, keys *seal.Keyring, in io.Reader) (*reader, error) {
	head := make([]byte, len(kind.magic)+16)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(kind.magic)]) != kind.magic {
		return nil, ErrNoBackup
	}
	return &reader{kind: kind, keys: keys, in: in,
		id: hex.EncodeToString(head[len(kind.magic):])}, nil
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.piece) == 0 {
		if r.last {
			return 0, r.checkEnd()
		}
		if err := r.readPiece(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// checkEnd fails if there is data after the last piece.
func (r *reader) checkEnd() error {
	if n, _ := io.ReadFull(r.in, make([]byte, 1)); n > 0 {
		return errDamaged
	}
	return io.EOF
}

func (r *reader) readPiece() error {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return errDamaged
	}
	size := binary.BigEndian.Uint32(head)
	if size > mostSealed || head[4] > 1 {
		return errDamaged
	}
	sealed := make([]byte, size)
	if _, err := io.ReadFull(r.in, sealed); err != nil {
		return errDamaged
	}
	r.last = head[4] == 1
	piece, err := r.keys.Open(r.kind.sealPlace(r.id, r.n, r.last), sealed)
	if waiting, ok := errors.AsType[*seal.WaitingError](err); ok {
		return fmt.Errorf("the backup is sealed under the key %s: %w", waiting.Key, waiting.Err)
	}
	if err != nil {
		return r.unopenedError(sealed)
	}
	r.piece, r.n = piece, r.n+1
	return nil
}

// unopenedError distinguishes a missing key from a damaged file.
func (r *reader) unopenedError(sealed []byte) error {
	kid, err := seal.KidOf(sealed)
	if err != nil {
		return errDamaged
	}
	if slices.Contains(r.keys.KeyIDs(), kid) {
		return fmt.Errorf("%w; or the key %s is not the one it was made with", errDamaged, kid)
	}
	return fmt.Errorf("the backup is sealed under the key %s, which is neither in "+
		"NULLOPS_MASTER_KEYS nor in Vault: add it", kid)
}

// asDamaged turns an early end into what it means.
func asDamaged(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, bufio.ErrBufferFull) {
		return errDamaged
	}
	return err
}

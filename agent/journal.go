package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/failpoint"
)

// ErrNewerJournal means that a newer release wrote the journal.
var ErrNewerJournal = errors.New("the journal was written by a newer release")

// errCorrupt means that something before the end of the journal is damaged.
var errCorrupt = errors.New("the journal is damaged")

// The journal is a line with its format, then frames:
//
//	length, CRC of the length, CRC of the payload (4 bytes each), payload
//
// The length has its own CRC: only so can a record that was cut short by a crash be distinguished
// from one whose length was damaged later.
const (
	journalName   = "journal"
	journalFormat = 1
	journalMagic  = "nullops-journal "
	frameHeader   = 12
	// maxFrame is far above any batch; a length beyond it is damage.
	maxFrame = 64 << 20
)

// journal is an append-only file of payloads. It is not safe for concurrent
// use.
type journal struct {
	file *os.File
	path string
	size int64
	// renamed: the file took the old one's place, and that is not yet on disk.
	renamed bool
	fail    failpoint.Hook
}

// openJournal reads what is there. A damaged journal is put aside under the
// returned name, and an empty one begins.
func openJournal(
	dir string, fail failpoint.Hook,
) (j *journal, payloads [][]byte, aside string, err error) {
	path := filepath.Join(dir, journalName)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, "", fmt.Errorf("read the journal: %w", err)
	}
	payloads, good, err := readFrames(data)
	if errors.Is(err, errCorrupt) {
		aside = fmt.Sprintf("%s.damaged-%d", path, time.Now().UnixNano())
		if err := os.Rename(path, aside); err != nil {
			return nil, nil, "", fmt.Errorf("put the damaged journal aside: %w", err)
		}
		payloads, good = nil, 0
	} else if err != nil {
		return nil, nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	j = &journal{path: path, fail: fail}
	if err := j.openAt(good); err != nil {
		return nil, nil, "", fmt.Errorf("open the journal: %w", err)
	}
	return j, payloads, aside, nil
}

// CheckFolder returns an error if a newer release wrote the data folder. It changes nothing, so
// that an older agent leaves the folder as it was.
func CheckFolder(dir string) error {
	path := filepath.Join(dir, journalName)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	defer func() { _ = file.Close() }()
	line := make([]byte, len(journalMagic)+8)
	n, err := io.ReadFull(file, line)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the journal: %w", err)
	}
	first, _, complete := bytes.Cut(line[:n], []byte("\n"))
	if !complete {
		return nil // it was cut off or damaged, which openJournal decides
	}
	if _, err := readFormat(first); errors.Is(err, ErrNewerJournal) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// readFormat returns the format that the first line names, if this release reads it.
func readFormat(line []byte) (int, error) {
	text, ours := bytes.CutPrefix(line, []byte(journalMagic))
	format, err := strconv.Atoi(string(text))
	if err != nil || !ours || format < 1 {
		return 0, errCorrupt
	}
	if format > journalFormat {
		return 0, fmt.Errorf("%w: its format is %d, this release reads up to %d; "+
			"start the newer release, or move the file away", ErrNewerJournal, format, journalFormat)
	}
	return format, nil
}

// openAt makes the file end after its last good frame.
func (j *journal) openAt(good int64) error {
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if good == 0 {
		if _, err = f.WriteAt([]byte(headerLine()), 0); err == nil {
			good = int64(len(headerLine()))
		}
	}
	if err == nil {
		err = errors.Join(f.Truncate(good), f.Sync(), syncDir(filepath.Dir(j.path)))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.size = f, good
	return nil
}

func headerLine() string { return journalMagic + strconv.Itoa(journalFormat) + "\n" }

// readFrames returns the payloads and where the good part ends.
func readFrames(data []byte) (payloads [][]byte, good int64, err error) {
	line, _, complete := bytes.Cut(data, []byte("\n"))
	if !complete {
		// A crash while the file was made: nothing was acknowledged.
		if strings.HasPrefix(headerLine(), string(data)) {
			return nil, 0, nil
		}
		return nil, 0, errCorrupt
	}
	if _, err := readFormat(line); err != nil {
		return nil, 0, err
	}
	at := int64(len(line) + 1)
	for {
		payload, size, err := readFrame(data[at:])
		if errors.Is(err, io.EOF) {
			return payloads, at, nil
		}
		if err != nil {
			return nil, 0, err
		}
		payloads, at = append(payloads, payload), at+size
	}
}

// readFrame returns io.EOF at the end, which may be a torn frame.
func readFrame(rest []byte) (payload []byte, size int64, err error) {
	if len(rest) < frameHeader || len(bytes.Trim(rest, "\x00")) == 0 {
		return nil, 0, io.EOF
	}
	length := binary.LittleEndian.Uint32(rest)
	if crcOf(rest[:4]) != binary.LittleEndian.Uint32(rest[4:]) || length > maxFrame {
		return nil, 0, errCorrupt
	}
	size = frameHeader + int64(length)
	if int64(len(rest)) < size {
		return nil, 0, io.EOF
	}
	payload = rest[frameHeader:size]
	if crcOf(payload) == binary.LittleEndian.Uint32(rest[8:]) {
		return payload, size, nil
	}
	if int64(len(rest)) == size {
		// The last one, and not all of it reached the disk.
		return nil, 0, io.EOF
	}
	return nil, 0, errCorrupt
}

func crcOf(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

func encodeFrame(payload []byte) []byte {
	f := make([]byte, frameHeader, frameHeader+len(payload))
	binary.LittleEndian.PutUint32(f, uint32(len(payload)))
	binary.LittleEndian.PutUint32(f[4:], crcOf(f[:4]))
	binary.LittleEndian.PutUint32(f[8:], crcOf(payload))
	return append(f, payload...)
}

// appendPayloads writes payloads and syncs them. On an error nothing was appended.
func (j *journal) appendPayloads(payloads [][]byte) error {
	var b []byte
	for _, p := range payloads {
		b = append(b, encodeFrame(p)...)
	}
	if err := j.syncRename(); err != nil {
		return err
	}
	err := j.fail.Hit("journal.append")
	if err == nil {
		_, err = j.file.WriteAt(b, j.size)
	}
	if err == nil {
		err = j.fail.Hit("journal.sync")
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("append to the journal: %w", errors.Join(err, j.file.Truncate(j.size)))
	}
	j.size += int64(len(b))
	// The entry is on disk, so an error must not be returned here: this failpoint is for
	// crashes only.
	j.fail.Pass("journal.synced")
	return nil
}

// rewrite replaces all entries by the payloads, or changes nothing. From the rename on, the
// new file is the journal even if a later step fails: an append to the old file would be
// lost.
func (j *journal) rewrite(payloads [][]byte) error {
	b := []byte(headerLine())
	for _, p := range payloads {
		b = append(b, encodeFrame(p)...)
	}
	if err := j.fail.Hit("journal.compact"); err != nil {
		return err
	}
	f, err := replaceFile(j.path, b)
	if err != nil {
		return fmt.Errorf("compact the journal: %w", err)
	}
	old := j.file
	j.file, j.size, j.renamed = f, int64(len(b)), true
	return errors.Join(j.syncRename(), old.Close())
}

// syncRename makes a rename durable. Until then a crash of the machine may bring the old
// file back, so nothing may be appended to the new one.
func (j *journal) syncRename() error {
	if !j.renamed {
		return nil
	}
	err := j.fail.Hit("journal.compacted")
	if err == nil {
		err = syncDir(filepath.Dir(j.path))
	}
	if err != nil {
		return fmt.Errorf("settle the compacted journal: %w", err)
	}
	j.renamed = false
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// writeFile leaves the old or the whole new, synced file under path.
func writeFile(path string, data []byte) error {
	f, err := replaceFile(path, data)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(filepath.Dir(path)))
}

// replaceFile puts a synced file in the place of the one under path, or changes
// nothing. The folder is not synced: a crash may bring the old file back.
func replaceFile(path string, data []byte) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+tempMark+"*") // mode 0600
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// tempMark is in the names of files that are being written.
const tempMark = ".tmp-"

// removeTempFiles removes files that a killed process left half written. The caller holds
// the folder's lock, so no other process is writing one.
func removeTempFiles(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, "*"+tempMark+"*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

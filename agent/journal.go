package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nullops/nullops/internal/durable"
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
	disk durable.FS
	file durable.File
	path string
	size int64
	mark *journalMark
	// renamed: the file took the old one's place, and that is not yet on disk.
	renamed bool
	// unclean: what an append that failed has written may still be after the end.
	unclean bool
	fail    failpoint.Hook
}

// openJournal reads what is there. A damaged journal is put aside, which damage says, and an
// empty one begins.
func openJournal(
	disk durable.FS, dir string, fail failpoint.Hook,
) (j *journal, payloads [][]byte, damage error, err error) {
	path := filepath.Join(dir, journalName)
	data, err := readIfThere(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the journal: %w", err)
	}
	mark, damage := readMark(dir)
	payloads, good, err := readMarkedFrames(data, mark)
	if errors.Is(err, errCorrupt) {
		if damage, err = putJournalAside(disk, dir, err); err != nil {
			return nil, nil, nil, err
		}
		payloads, good = nil, 0
	} else if err != nil {
		return nil, nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	j = &journal{disk: disk, path: path, fail: fail}
	var head []byte
	if len(payloads) > 0 {
		head = headOf(data)
	}
	if err := j.openAt(good, head); err != nil {
		return nil, nil, nil, fmt.Errorf("open the journal: %w", err)
	}
	return j, payloads, damage, nil
}

// putJournalAside renames what there is of the journal and its mark.
func putJournalAside(disk durable.FS, dir string, why error) (damage, err error) {
	damage = why
	for _, name := range []string{journalName, markName} {
		aside, err := durable.PutAside(disk, filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			damage = fmt.Errorf("%w; put aside as %s", damage, aside)
		}
	}
	return damage, nil
}

// readIfThere reads a file; one that does not exist is empty.
func readIfThere(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
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
		return 0, fmt.Errorf("%w: its first line is wrong", errCorrupt)
	}
	if format > journalFormat {
		return 0, fmt.Errorf("%w: its format is %d, this release reads up to %d; "+
			"start the newer release, or move the file away", ErrNewerJournal, format, journalFormat)
	}
	return format, nil
}

// openAt makes the file end after its last good frame.
func (j *journal) openAt(good int64, head []byte) error {
	f, err := j.disk.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if good == 0 {
		if _, err = f.WriteAt([]byte(headerLine()), 0); err == nil {
			good = int64(len(headerLine()))
		}
	}
	if err == nil {
		err = errors.Join(f.Truncate(good), f.Sync())
	}
	dir := filepath.Dir(j.path)
	if err == nil {
		j.mark, err = openMark(j.disk, dir, good, head)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	j.file, j.size = f, good
	if err := j.disk.SyncDir(dir); err != nil {
		return errors.Join(err, j.close())
	}
	return nil
}

func headerLine() string { return journalMagic + strconv.Itoa(journalFormat) + "\n" }

// readFrames returns the payloads and where the good part ends. Everything before known was on
// disk once, so a frame there that cannot be read was damaged.
func readFrames(data []byte, known int64) (payloads [][]byte, good int64, err error) {
	line, _, complete := bytes.Cut(data, []byte("\n"))
	if !complete {
		// A crash while the file was made: nothing was acknowledged.
		if known == 0 && isTornHeader(data) {
			return nil, 0, nil
		}
		return nil, 0, fmt.Errorf("%w: its first line is wrong", errCorrupt)
	}
	if _, err := readFormat(line); err != nil {
		return nil, 0, err
	}
	at := int64(len(line) + 1)
	for at < int64(len(data)) {
		payload, whole := readFrame(data[at:])
		if !whole {
			if at < known || at > known && !isTorn(data[at:], at) {
				return nil, 0, fmt.Errorf("%w: the record at byte %d cannot be read", errCorrupt, at)
			}
			break
		}
		payloads, at = append(payloads, payload), at+frameHeader+int64(len(payload))
	}
	return payloads, at, nil
}

// isTornHeader reports whether the file is what a loss of power leaves of an empty journal.
func isTornHeader(data []byte) bool {
	return strings.HasPrefix(headerLine(), string(bytes.TrimRight(data, "\x00")))
}

// readFrame reads the frame at the beginning of rest, if it is whole.
func readFrame(rest []byte) (payload []byte, whole bool) {
	length, ok := frameLength(rest)
	if !ok || int64(len(rest)) < frameHeader+length {
		return nil, false
	}
	payload = rest[frameHeader : frameHeader+length]
	return payload, crcOf(payload) == binary.LittleEndian.Uint32(rest[8:])
}

// frameLength returns the length of the payload, if it can be trusted.
func frameLength(rest []byte) (length int64, ok bool) {
	if len(rest) < frameHeader {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(rest)
	return int64(n), crcOf(rest[:4]) == binary.LittleEndian.Uint32(rest[4:]) && n <= maxFrame
}

// sectorSize is the least that a disk writes as a whole.
const sectorSize = 512

// isTorn reports whether a loss of power explains why the frame at this offset cannot be read:
// the file ends too early, or ends with zeros, or sectors are missing, which read as zeros.
// Something else, such as a changed bit, is damage, even in the last frame.
func isTorn(rest []byte, at int64) bool {
	length, ok := frameLength(rest)
	if len(rest) < frameHeader || ok && int64(len(rest)) < frameHeader+length ||
		rest[len(rest)-1] == 0 {
		return true
	}
	for len(rest) > 0 {
		part := rest[:min(sectorSize-at%sectorSize, int64(len(rest)))]
		if len(bytes.Trim(part, "\x00")) == 0 {
			return true
		}
		rest, at = rest[len(part):], at+int64(len(part))
	}
	return false
}

func crcOf(data []byte) uint32 { return durable.Checksum(data) }

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
	if err := errors.Join(j.syncRename(), j.cutFailed()); err != nil {
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
		j.unclean = true
		return errors.Join(fmt.Errorf("append to the journal: %w", err), j.cutFailed())
	}
	if j.mark.head == nil {
		j.mark.head = headOf(append([]byte(headerLine()), b...))
	}
	j.size += int64(len(b))
	j.mark.move(j.size)
	// The entry is on disk, so an error must not be returned here: this failpoint is for
	// crashes only.
	j.fail.Pass("journal.synced")
	return nil
}

// cutFailed removes what an append that failed has written, for good: mixed with what is written
// there next, it could look like damage after a loss of power.
func (j *journal) cutFailed() error {
	if !j.unclean {
		return nil
	}
	if err := errors.Join(j.file.Truncate(j.size), j.file.Sync()); err != nil {
		return fmt.Errorf("remove the end of the journal: %w", err)
	}
	j.unclean = false
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
	err := j.mark.clear()
	var f durable.File
	if err == nil {
		f, err = durable.ReplaceFile(j.disk, j.path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("compact the journal: %w", err)
	}
	old := j.file
	j.file, j.size, j.renamed, j.unclean = f, int64(len(b)), true, false
	j.mark.head = nil
	if len(payloads) > 0 {
		j.mark.head = headOf(b)
	}
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
		err = j.disk.SyncDir(filepath.Dir(j.path))
	}
	if err != nil {
		return fmt.Errorf("settle the compacted journal: %w", err)
	}
	j.renamed = false
	j.mark.move(j.size)
	return nil
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.mark.close()) }

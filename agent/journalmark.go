package agent

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nullops/nullops/internal/durable"
)

// journalMark is a small file beside the journal that says how far it is on disk. A journal that
// ends before its mark was cut short, and a record before the mark that cannot be read was damaged:
// a loss of power does neither.
//
// The mark itself is written without a sync, after the journal's. After a loss of power it may
// be of an earlier time: then it proves less, and nothing wrong. It names the beginning of the
// journal that it belongs to, because a compaction replaces the journal.
type journalMark struct {
	file durable.File
	// head is the beginning of the journal; nil before its first record.
	head []byte
}

const (
	markName   = "journal.mark"
	markFormat = "%016x %08x %08x\n"
)

// markContent is what the file says: where the journal ends, and the checksum of its head.
type markContent struct {
	end  int64
	head uint32
}

// headOf returns what distinguishes a journal from every other: its first line and the header of
// its first frame, in which is the checksum of the payload.
func headOf(data []byte) []byte {
	return bytes.Clone(data[:min(len(data), len(headerLine())+frameHeader)])
}

// asOurs returns the head of a journal whose first line was changed.
func asOurs(data []byte) []byte {
	_, frames, _ := bytes.Cut(data, []byte("\n"))
	return headOf(append([]byte(headerLine()), frames...))
}

func (c markContent) format() []byte {
	body := fmt.Sprintf("%016x %08x", c.end, c.head)
	return fmt.Appendf(nil, markFormat, c.end, c.head, crcOf([]byte(body)))
}

// readMark reads the mark of a folder. Without one, or with a damaged one, nothing is known.
func readMark(dir string) (c markContent, damage error) {
	path := filepath.Join(dir, markName)
	data, err := readIfThere(path)
	if err != nil || data == nil {
		return c, err
	}
	_, err = fmt.Sscanf(string(data), markFormat, &c.end, &c.head, new(uint32))
	if err != nil || !bytes.Equal(c.format(), data) {
		return markContent{}, fmt.Errorf("%s is damaged; the journal was read without it, and it "+
			"is written anew", path)
	}
	return c, nil
}

// readMarkedFrames reads a journal up to its end, or finds that it is damaged.
func readMarkedFrames(data []byte, mark markContent) (all [][]byte, good int64, err error) {
	if mark.end == 0 {
		return readFrames(data, 0)
	}
	known := int64(0)
	if crcOf(headOf(data)) == mark.head {
		known = mark.end
	}
	all, good, err = readFrames(data, known)
	switch {
	case len(data) == 0:
		err = fmt.Errorf("%w: it is missing or empty", errCorrupt)
	case errors.Is(err, ErrNewerJournal) && crcOf(asOurs(data)) == mark.head:
		err = fmt.Errorf("%w: its first line is wrong", errCorrupt)
	case err == nil && len(all) == 0:
		// The first record was on disk before any mark was written.
		err = fmt.Errorf("%w: its first record cannot be read", errCorrupt)
	case err == nil && good < known:
		err = fmt.Errorf("%w: it ends at byte %d, and %d bytes of it were on disk", errCorrupt, good,
			known)
	}
	if err != nil {
		return nil, 0, err
	}
	return all, good, nil
}

// openMark writes the mark of a journal that is on disk up to its end. The caller syncs the folder.
func openMark(disk durable.FS, dir string, end int64, head []byte) (*journalMark, error) {
	m := &journalMark{head: head}
	f, err := durable.ReplaceFile(disk, filepath.Join(dir, markName), m.content(end).format(), 0o600)
	if err != nil {
		return nil, err
	}
	m.file = f
	return m, nil
}

// content is what the mark says of an end. A journal without records has no mark, because nothing
// distinguishes it from another one.
func (m *journalMark) content(end int64) (c markContent) {
	if m.head != nil {
		c = markContent{end: end, head: crcOf(m.head)}
	}
	return c
}

// move writes the mark. An error is ignored: an older mark is as right, and the journal itself is
// on disk.
func (m *journalMark) move(end int64) { _, _ = m.file.WriteAt(m.content(end).format(), 0) }

// clear has the mark say nothing, for good, before another journal takes the place of its own: that
// may begin with the same record.
func (m *journalMark) clear() error {
	_, err := m.file.WriteAt(markContent{}.format(), 0)
	return errors.Join(err, m.file.Sync())
}

func (m *journalMark) close() error { return m.file.Close() }

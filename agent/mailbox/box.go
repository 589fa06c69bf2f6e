package mailbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	mailSuffix = ".mail"
	tempSuffix = ".new"
	stateFile  = "box.json"
	// longestHead bounds the line that a mail's file begins with.
	longestHead = 64 << 10
)

// Envelope is what a client said before it sent a mail, and what is known of it.
type Envelope struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
	To   []string  `json:"to"`
	// Peer is the address that it came from, and Helo what that called itself.
	Peer string `json:"peer,omitempty"`
	Helo string `json:"helo,omitempty"`
}

// Summary is a mail in a list.
type Summary struct {
	Number int64 `json:"-"`
	Envelope
	// Subject, Sender and Recipients are of the mail's header.
	Subject    string `json:"subject,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Recipients string `json:"recipients,omitempty"`
	Bytes      int64  `json:"-"`
}

// Box is the mailbox of one deployment.
type Box struct {
	store *Store
	dir   string
	// writers bounds how many mails are written at once.
	writers chan struct{}

	mu      sync.Mutex
	removed bool
	// sizes has the mails by their number, with what each takes on disk; bytes is their sum.
	sizes map[int64]int64
	bytes int64
	state boxState
	// changed is closed at the next change.
	changed chan struct{}
	// revision counts the changes since the agent was started.
	revision int64
}

// boxState is what is to survive a restart besides the mails.
type boxState struct {
	// Last is the highest number that was given.
	Last int64 `json:"last"`
	// Dropped were removed to make room, Refused never stored.
	Dropped int64 `json:"dropped,omitempty"`
	Refused int64 `json:"refused,omitempty"`
}

// Counts say how full a mailbox is.
type Counts struct {
	Mails            int
	Bytes            int64
	Dropped, Refused int64
	// Last is the highest number of a mail so far.
	Last int64
}

// loadMails reads what is in the folder.
func (b *Box) loadMails() error {
	b.sizes = map[int64]int64{}
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if data, err := os.ReadFile(filepath.Join(b.dir, stateFile)); err == nil {
		// One that is damaged counts nothing.
		_ = json.Unmarshal(data, &b.state)
	}
	for _, e := range entries {
		name, isMail := strings.CutSuffix(e.Name(), mailSuffix)
		number, err := strconv.ParseInt(name, 10, 64)
		switch {
		case strings.HasSuffix(e.Name(), tempSuffix):
			if err := os.Remove(filepath.Join(b.dir, e.Name())); err != nil {
				return err
			}
		case isMail && err == nil:
			if info, err := e.Info(); err == nil {
				b.sizes[number] = info.Size()
				b.bytes += info.Size()
				b.state.Last = max(b.state.Last, number)
			}
		}
	}
	return nil
}

func (b *Box) mailPath(number int64) string {
	return filepath.Join(b.dir, fmt.Sprintf("%012d%s", number, mailSuffix))
}

// Counts returns how full the mailbox is.
func (b *Box) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Counts{Mails: len(b.sizes), Bytes: b.bytes, Dropped: b.state.Dropped,
		Refused: b.state.Refused, Last: b.state.Last}
}

func (b *Box) sumBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// Changes returns a number that differs after each change, and a channel that is closed by the
// next one.
func (b *Box) Changes() (revision int64, next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision, b.changed
}

// Add stores a mail.
func (b *Box) Add(e Envelope, from io.Reader) error {
	b.writers <- struct{}{}
	defer func() { <-b.writers }()
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("make the mailbox: %w", err)
	}
	if err := b.store.checkDisk(b.store.limits.Mail); err != nil {
		return err
	}
	temp, err := os.CreateTemp(b.dir, "*"+tempSuffix)
	if err != nil {
		return fmt.Errorf("store a mail: %w", err)
	}
	size, err := writeMail(&guardedFile{Writer: temp, store: b.store, left: lookAfter}, e, from)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = b.keepMail(temp.Name(), size)
	}
	if err != nil {
		return errors.Join(err, removeIfThere(temp.Name()))
	}
	return b.store.makeRoom()
}

// writeMail writes a line of JSON and the mail as it came.
func writeMail(to io.Writer, e Envelope, from io.Reader) (size int64, err error) {
	in := bufio.NewReaderSize(from, longestHead)
	// An error comes again with the next read.
	begin, _ := in.Peek(longestHead)
	head, err := json.Marshal(summarizeMail(e, begin))
	if err != nil {
		return 0, err
	}
	if len(head) >= longestHead {
		if head, err = json.Marshal(Summary{Envelope: Envelope{At: e.At}}); err != nil {
			return 0, err
		}
	}
	n, err := to.Write(append(head, '\n'))
	if err != nil {
		return 0, fmt.Errorf("store a mail: %w", err)
	}
	body, err := io.Copy(to, in)
	return int64(n) + body, err
}

// keepMail gives a written mail its number, and makes room for it.
func (b *Box) keepMail(path string, size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removed {
		return errors.New("the deployment is being removed")
	}
	b.state.Last++
	if err := os.Rename(path, b.mailPath(b.state.Last)); err != nil {
		return fmt.Errorf("store a mail: %w", err)
	}
	b.sizes[b.state.Last] = size
	b.bytes += size
	limits := b.store.limits
	var failed error
	for failed == nil && (len(b.sizes) > limits.Mails || b.bytes > limits.Bytes) {
		failed = b.dropOldestLocked()
	}
	b.notifyLocked()
	return failed
}

// dropOldest removes the oldest mail to make room.
func (b *Box) dropOldest() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.notifyLocked()
	return b.dropOldestLocked()
}

func (b *Box) dropOldestLocked() error {
	oldest := int64(-1)
	for n := range b.sizes {
		if oldest < 0 || n < oldest {
			oldest = n
		}
	}
	if oldest < 0 {
		return nil
	}
	b.state.Dropped++
	return errors.Join(b.deleteLocked(oldest), b.saveLocked())
}

func (b *Box) deleteLocked(number int64) error {
	b.bytes -= b.sizes[number]
	delete(b.sizes, number)
	return removeIfThere(b.mailPath(number))
}

// saveLocked stores the counts. They are for people: a loss of power may lose the last of them.
func (b *Box) saveLocked() error {
	data, err := json.Marshal(b.state)
	if err == nil {
		temp := filepath.Join(b.dir, stateFile+tempSuffix)
		if err = os.WriteFile(temp, data, 0o600); err == nil {
			err = os.Rename(temp, filepath.Join(b.dir, stateFile))
		}
	}
	if err != nil {
		return fmt.Errorf("store the mailbox's counts: %w", err)
	}
	return nil
}

func (b *Box) notifyLocked() {
	b.revision++
	close(b.changed)
	b.changed = make(chan struct{})
}

// countRefused counts a mail that was not stored.
func (b *Box) countRefused() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Refused++
	b.notifyLocked()
	if b.removed {
		return nil
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	return b.saveLocked()
}

// Delete deletes a mail. It is no error if there is none.
func (b *Box) Delete(number int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.sizes[number]; !there {
		return nil
	}
	defer b.notifyLocked()
	// The number must not be given again.
	return errors.Join(b.deleteLocked(number), b.saveLocked())
}

// Clear deletes all mails, and forgets what was dropped and refused.
func (b *Box) Clear() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.Last == 0 && b.state.Refused == 0 {
		return nil
	}
	defer b.notifyLocked()
	var failed error
	for _, n := range sortedNumbers(b.sizes) {
		failed = errors.Join(failed, b.deleteLocked(n))
	}
	b.state.Dropped, b.state.Refused = 0, 0
	return errors.Join(failed, b.saveLocked())
}

func (b *Box) removeFolder() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.removed = true
	b.sizes, b.bytes = map[int64]int64{}, 0
	b.notifyLocked()
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("remove the mailbox: %w", err)
	}
	return nil
}

// listNumbers returns the listNumbers of the mails, newest first.
func (b *Box) listNumbers() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := sortedNumbers(b.sizes)
	slices.Reverse(all)
	return all
}

// openFile opens a mail's file and reads its first line.
func (b *Box) openFile(number int64) (s Summary, mail *openMail, err error) {
	file, err := os.Open(b.mailPath(number))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil, ErrNoMail
	}
	if err != nil {
		return s, nil, fmt.Errorf("read a mail: %w", err)
	}
	in := bufio.NewReaderSize(file, longestHead)
	line, err := in.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(line), &s)
	}
	var info os.FileInfo
	if err == nil {
		info, err = file.Stat()
	}
	if err != nil {
		return s, nil, errors.Join(fmt.Errorf("read a mail: %w", err), file.Close())
	}
	s.Number, s.Bytes = number, info.Size()-int64(len(line))
	return s, &openMail{Reader: in, file: file}, nil
}

// openMail reads a mail as it came.
type openMail struct {
	*bufio.Reader
	file *os.File
}

// Close implements io.Closer.
func (m *openMail) Close() error { return m.file.Close() }

// Raw opens a mail as it came.
func (b *Box) Raw(number int64) (io.ReadCloser, error) {
	_, mail, err := b.openFile(number)
	if err != nil {
		return nil, err
	}
	return mail, nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

package mailbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound what is kept.
type Limits struct {
	// Mail is the size of one mail in bytes, Mails and Bytes what a mailbox holds, and Total what
	// all mailboxes hold together, in bytes.
	Mail  int64
	Mails int
	Bytes int64
	Total int64
	// Free is what stays free on the disk, in bytes.
	Free int64
}

// DefaultLimits keep the mails of a test run, with a few attachments.
func DefaultLimits() Limits {
	return Limits{Mail: 10 << 20, Mails: 500, Bytes: 64 << 20, Total: 1 << 30, Free: 512 << 20}
}

var (
	// ErrNoMail means that a mailbox has no mail of this number, or no such part in it.
	ErrNoMail = errors.New("no such mail")
	// errDiskFull refuses a mail.
	errDiskFull = errors.New("the node's disk is nearly full")
)

// Store has the mailboxes of a node, each in a folder of its own.
type Store struct {
	dir    string
	limits Limits
	// diskFree is how many bytes are free below a folder; tests replace it.
	diskFree func(dir string) (int64, error)

	// mu guards boxes; a box has a lock of its own.
	mu    sync.Mutex
	boxes map[string]*Box
	// making room in all mailboxes happens once at a time.
	room sync.Mutex
	// parsers bounds how many mails are read at once.
	parsers chan struct{}
}

const (
	// maxWriters times Limits.Mail is what unfinished mails of a deployment may take on the disk. All
	// deployments together may not share such a bound: one that is slow would keep others waiting.
	maxWriters = 8
	// maxParsers times some 20 MiB is what reading hostile mails may take of the agent's memory.
	maxParsers = 2
	// lookAfter is after how many bytes of a mail the disk is looked at again.
	lookAfter = 1 << 20
)

// Open opens the mailboxes below a folder. They are read when they are used.
func Open(dir string, limits Limits) *Store {
	return &Store{dir: dir, limits: limits, diskFree: freeBytes, boxes: map[string]*Box{},
		parsers: make(chan struct{}, maxParsers)}
}

// Limits returns what bounds the mailboxes.
func (s *Store) Limits() Limits { return s.limits }

func freeBytes(dir string) (int64, error) {
	var f unix.Statfs_t
	if err := unix.Statfs(dir, &f); err != nil {
		return 0, err
	}
	return int64(f.Bavail) * f.Bsize, nil
}

// Box returns the mailbox of a deployment.
func (s *Store) Box(deployment string) (*Box, error) {
	if filepath.Base(deployment) != deployment || deployment[0] == '.' {
		return nil, fmt.Errorf("%q is not a deployment's id", deployment)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.boxes[deployment]; b != nil {
		return b, nil
	}
	b := &Box{store: s, dir: filepath.Join(s.dir, deployment), changed: make(chan struct{}),
		writers: make(chan struct{}, maxWriters)}
	if err := b.loadMails(); err != nil {
		return nil, fmt.Errorf("open the mailbox: %w", err)
	}
	s.boxes[deployment] = b
	return b, nil
}

// Remove deletes a deployment's mails. Mails that are on their way are refused.
func (s *Store) Remove(deployment string) error {
	b, err := s.Box(deployment)
	if err != nil {
		return err
	}
	// Under the lock: nobody may open the folder again while it is being deleted.
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.boxes, deployment)
	return b.removeFolder()
}

// List returns the deployments that have a mailbox on disk, and when it last changed.
func (s *Store) List() (map[string]time.Time, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list mailboxes: %w", err)
	}
	all := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			all[e.Name()] = info.ModTime()
		}
	}
	return all, nil
}

// makeRoom removes the oldest mails of the fullest mailboxes until all hold at most Total. A flood
// displaces itself that way, and not the mails of others.
func (s *Store) makeRoom() error {
	s.room.Lock()
	defer s.room.Unlock()
	if err := s.openAll(); err != nil {
		return err
	}
	for {
		var fullest *Box
		var total, most int64
		s.mu.Lock()
		boxes := make([]*Box, 0, len(s.boxes))
		for _, b := range s.boxes {
			boxes = append(boxes, b)
		}
		s.mu.Unlock()
		for _, b := range boxes {
			size := b.sumBytes()
			total += size
			if size > most {
				fullest, most = b, size
			}
		}
		if total <= s.limits.Total || fullest == nil {
			return nil
		}
		if err := fullest.dropOldest(); err != nil {
			return err
		}
	}
}

// openAll makes sure that mailboxes from before a restart count too.
func (s *Store) openAll() error {
	all, err := s.List()
	for id := range all {
		if _, failed := s.Box(id); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// checkDisk refuses a mail of which so much is to come when the disk is nearly full.
func (s *Store) checkDisk(more int64) error {
	free, err := s.diskFree(s.dir)
	if err == nil && free < s.limits.Free+more {
		return errDiskFull
	}
	return err
}

// guardedFile refuses to go on with a mail when the disk has become full meanwhile.
type guardedFile struct {
	io.Writer
	store *Store
	// left may be written before the disk is looked at again, in bytes.
	left int
}

// Write implements io.Writer.
func (g *guardedFile) Write(data []byte) (int, error) {
	if g.left -= len(data); g.left < 0 {
		g.left = lookAfter
		if err := g.store.checkDisk(0); err != nil {
			return 0, err
		}
	}
	return g.Writer.Write(data)
}

// sortedNumbers returns the numbers of mails, oldest first.
func sortedNumbers(sizes map[int64]int64) []int64 {
	all := make([]int64, 0, len(sizes))
	for n := range sizes {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

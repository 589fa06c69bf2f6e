package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/failpoint"
)

// ErrInUse means that another agent works in the same data folder.
var ErrInUse = errors.New("another agent uses this data folder")

// Acknowledged events are kept this long and up to this many, so that a control plane
// restored from a backup can request them again.
const (
	keepFor   = 24 * time.Hour
	keepCount = 4096
)

// entry is one frame of the journal: all that one decision changed.
type entry struct {
	Deployment string          `json:"deployment,omitempty"`
	Records    []engine.Record `json:"records,omitempty"`
	Events     []wire.Event    `json:"events,omitempty"`
	Forget     bool            `json:"forget,omitempty"`
	// Acked and Last are numbers of events; zero leaves them.
	Acked int64 `json:"acked,omitempty"`
	Last  int64 `json:"last,omitempty"`
	// Confirmed is the last event that a control plane confirmed as stored. Acked can be
	// higher: when the journal was lost, it begins at a number that is reserved.
	Confirmed int64 `json:"confirmed,omitempty"`
}

// store is what survives the process: the machines' records and the outbox.
type store struct {
	journal *journal
	lock    *os.File
	dir     string
	// base is the journal's size after the last compaction.
	base int64

	mu     sync.Mutex
	events []wire.Event
	last   int64
	acked  int64
	// confirmed is what control planes really acknowledged.
	confirmed int64
}

// openStore locks the folder and reads what is there: the machines, by
// deployment, and the damage when a damaged journal was put aside.
func openStore(
	disk durable.FS, dir string, fail failpoint.Hook,
) (_ *store, _ map[string]*engine.Machine, damage error, err error) {
	if err := durable.MakeDir(disk, dir, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("make the data folder: %w", err)
	}
	if err := CheckFolder(dir); err != nil {
		return nil, nil, nil, err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := durable.RemoveTemporary(disk, dir, "*"); err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("tidy the data folder: %w", err), lock.Close())
	}
	j, payloads, damage, err := openJournal(disk, dir, fail)
	if err != nil {
		return nil, nil, nil, errors.Join(err, lock.Close())
	}
	s := &store{journal: j, lock: lock, dir: dir}
	records, err := s.readEntries(payloads)
	if err != nil {
		return nil, nil, nil, errors.Join(err, s.close())
	}
	machines := map[string]*engine.Machine{}
	for id, list := range records {
		machines[id] = engine.Replay(id, list)
	}
	return s, machines, damage, nil
}

func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s; stop it, or give this one its own folder",
			ErrInUse, dir), f.Close())
	}
	return f, nil
}

func (s *store) readEntries(payloads [][]byte) (map[string][]engine.Record, error) {
	records := map[string][]engine.Record{}
	for _, p := range payloads {
		var e entry
		if err := json.Unmarshal(p, &e); err != nil {
			// The frame's checksum was right, so this is no damage of the disk.
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		s.applyEntry(e)
		switch {
		case e.Forget:
			delete(records, e.Deployment)
		case e.Deployment != "":
			records[e.Deployment] = append(records[e.Deployment], e.Records...)
		}
	}
	return records, nil
}

// applyEntry adds an entry's events to the outbox and updates the sequence numbers.
func (s *store) applyEntry(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range e.Events {
		s.events = append(s.events, ev)
		s.last = max(s.last, ev.Seq)
	}
	s.last = max(s.last, e.Last)
	s.acked = max(s.acked, e.Acked)
	s.confirmed = max(s.confirmed, e.Confirmed)
}

// saveEntries appends entries, numbering their events, and syncs them to disk. On an
// error nothing changed, and the same entries may be saved again.
func (s *store) saveEntries(entries []entry) error {
	s.mu.Lock()
	next := s.last
	s.mu.Unlock()
	payloads := make([][]byte, len(entries))
	for i, e := range entries {
		for k := range e.Events {
			next++
			e.Events[k].Seq = next
		}
		var err error
		if payloads[i], err = json.Marshal(e); err != nil {
			return fmt.Errorf("encode a journal entry: %w", err)
		}
	}
	if err := s.journal.appendPayloads(payloads); err != nil {
		return err
	}
	for _, e := range entries {
		s.applyEntry(e)
	}
	return nil
}

// eventsAfter returns up to limit events beyond seq, oldest first.
func (s *store) eventsAfter(seq int64, limit int) []wire.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.events, seq+1, func(e wire.Event, n int64) int {
		return int(e.Seq - n)
	})
	return slices.Clone(s.events[i:min(len(s.events), i+limit)])
}

// seqNumbers returns the first event kept, the last made, and the last acked.
func (s *store) seqNumbers() (first, last, acked int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = s.last + 1
	if len(s.events) > 0 {
		first = s.events[0].Seq
	}
	return first, s.last, s.acked
}

// lastConfirmed is the last event that a control plane confirmed as stored, as far as
// the journal goes back.
func (s *store) lastConfirmed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.confirmed
}

// ackEntry is the journal entry for an acknowledgement, if it changes anything. A control
// plane that acknowledges a higher number than we have ever used knows this agent from
// before its journal was lost: new events, and events not sent yet, then get higher
// numbers.
func (s *store) ackEntry(seq int64) (entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq <= s.acked && seq <= s.last {
		return entry{}, false
	}
	if seq <= s.last {
		return entry{Acked: seq, Confirmed: seq}, true
	}
	e := entry{Acked: seq, Last: seq, Confirmed: seq}
	for _, ev := range s.events {
		if ev.Seq > s.acked {
			e.Events = append(e.Events, ev)
		}
	}
	s.events, s.last, s.acked = nil, seq, seq
	return e, true
}

// trimEvents drops events that are acknowledged and old, or too many.
func (s *store) trimEvents(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := 0
	for i, e := range s.events {
		old := now.Sub(e.At) > keepFor || len(s.events)-i > keepCount
		if e.Seq > s.acked || !old {
			break
		}
		drop = i + 1
	}
	s.events = slices.Clone(s.events[drop:])
}

// compactIfLarge rewrites the journal when most of it is history.
func (s *store) compactIfLarge(now time.Time, machines map[string]*engine.Machine) error {
	if s.journal.size < compactAt || s.journal.size < 2*s.base {
		return nil
	}
	return s.rewriteJournal(now, machines)
}

func (s *store) rewriteJournal(now time.Time, machines map[string]*engine.Machine) error {
	s.trimEvents(now)
	s.mu.Lock()
	entries := []entry{{Events: slices.Clone(s.events), Last: s.last, Acked: s.acked,
		Confirmed: s.confirmed}}
	s.mu.Unlock()
	for _, id := range sortedKeys(machines) {
		entries = append(entries, entry{Deployment: id, Records: machines[id].Snapshot()})
	}
	payloads := make([][]byte, len(entries))
	for i, e := range entries {
		var err error
		if payloads[i], err = json.Marshal(e); err != nil {
			return fmt.Errorf("encode a journal entry: %w", err)
		}
	}
	if err := s.journal.rewrite(payloads); err != nil {
		return err
	}
	s.base = s.journal.size
	return nil
}

// close unlocks the folder.
func (s *store) close() error { return errors.Join(s.journal.close(), s.lock.Close()) }

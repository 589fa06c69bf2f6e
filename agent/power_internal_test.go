package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/durable/durabletest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

var (
	powerCuts = flag.Int("power-cuts", 1000, "how often the power is cut under journal and store")
	powerSeed = flag.Uint64("power-seed", 1, "the first seed")
)

// cutsOfWorld is how often the power is cut under one journal or store. Each has its own seed.
const cutsOfWorld = 3

// A machine that loses its power keeps every record whose append returned, and nothing appears
// that was never appended. What a refused append has written may, because it is repeated.
//
// fault: F22
func TestJournal_KeepsWhatItAcknowledgedThroughPowerCuts(t *testing.T) {
	testpart.Rotate(t)
	root := durabletest.TempDir(t)
	for n := range (*powerCuts + cutsOfWorld - 1) / cutsOfWorld {
		seed := *powerSeed + uint64(n)
		w := &journalWorld{random: rand.New(rand.NewPCG(seed, 0))}
		w.live(filepath.Join(root, fmt.Sprint(n)))
		if w.problem != nil {
			t.Fatalf("seed %d: %v", seed, w.problem)
		}
	}
}

// journalWorld is a journal through some power cuts.
type journalWorld struct {
	random *rand.Rand
	disk   *durabletest.Disk
	// kept is what counts. tried are the appends since then that failed, and others is what
	// rewrites that failed may have left instead of kept.
	kept          [][]byte
	tried, others [][][]byte
	made          int
	problem       error
}

func (w *journalWorld) live(dir string) {
	if w.problem = durable.MakeDir(durable.OS{}, dir, 0o700); w.problem != nil {
		return
	}
	for life := range cutsOfWorld {
		disk, err := durabletest.New(dir)
		if err != nil {
			w.problem = err
			return
		}
		w.disk = disk
		disk.CutAfter(w.random.IntN(60), nil)
		for !disk.IsOff() && w.problem == nil {
			w.work(dir)
		}
		if w.problem != nil {
			return
		}
		dir = fmt.Sprintf("%s-%d", dir, life)
		if w.problem = disk.Survive(w.random, dir); w.problem == nil {
			w.check(dir)
		}
	}
}

// work is one process. It ends with the power, or before.
func (w *journalWorld) work(dir string) {
	refuse := ""
	j, read, damage, err := openJournal(w.disk, dir, func(place string) error {
		if place == refuse {
			return errors.New("no space left")
		}
		return nil
	})
	if err != nil {
		return // the power
	}
	defer func() { _ = j.close() }()
	w.accept(read, damage)
	if w.random.IntN(2) == 0 {
		w.hurry()
	}
	for range w.random.IntN(12) {
		refuse = ""
		if w.random.IntN(4) == 0 {
			refuse = []string{"journal.append", "journal.sync", "journal.sync", "journal.sync",
				"journal.compact", "journal.compacted"}[w.random.IntN(6)]
		}
		if w.random.IntN(6) == 0 {
			w.rewrite(j)
			continue
		}
		if batch := w.newBatch(); j.appendPayloads(batch) == nil {
			w.kept, w.tried, w.others = append(w.kept, batch...), nil, nil
		} else {
			w.tried = append(w.tried, batch)
			w.hurry()
		}
	}
}

// hurry has the power cut soon: what is written next is then mixed with what was to be cut off
// at the start, or after an append that failed.
func (w *journalWorld) hurry() {
	if !w.disk.IsOff() {
		w.disk.CutAfter(w.random.IntN(3), nil)
	}
}

func (w *journalWorld) rewrite(j *journal) {
	next := append(w.newBatch(), w.kept[len(w.kept)/2:]...)
	if len(w.kept) > 1 && w.random.IntN(2) == 0 {
		next = w.kept[:1:1] // as before, but shorter: the old mark must not be taken for its own
	}
	before := j.file
	switch err := j.rewrite(next); {
	case err == nil:
		w.kept, w.tried, w.others = next, nil, nil
	case j.file == before:
		w.others = append(w.others, next)
	default: // appends go to the new file, and a cut may bring the old one back
		w.others = append(w.others, w.kept)
		w.kept = next
	}
}

func (w *journalWorld) newBatch() [][]byte {
	batch := make([][]byte, 1+w.random.IntN(4))
	for i := range batch {
		w.made++
		batch[i] = fmt.Appendf(nil, "%d:", w.made)
		batch[i] = append(batch[i], bytes.Repeat([]byte("x"), w.random.IntN(1500))...)
	}
	return batch
}

// check opens what the cut left, and uses it.
func (w *journalWorld) check(dir string) {
	disk, err := durabletest.New(dir)
	if err != nil {
		w.problem = err
		return
	}
	j, read, damage, err := openJournal(disk, dir, nil)
	if err != nil {
		w.problem = fmt.Errorf("open after the cut: %w", err)
		return
	}
	w.accept(read, damage)
	batch := w.newBatch()
	if w.problem = errors.Join(w.problem, j.appendPayloads(batch), j.close()); w.problem == nil {
		w.kept = append(w.kept, batch...)
		j, read, damage, err = openJournal(disk, dir, nil)
		w.problem = err
		if err == nil {
			w.accept(read, damage)
			_ = j.close()
		}
	}
}

// accept compares what was read with what may be there, which then counts.
func (w *journalWorld) accept(read [][]byte, damage error) {
	if damage != nil {
		w.problem = fmt.Errorf("a cut was taken for damage: %w", damage)
		return
	}
	for _, base := range append([][][]byte{w.kept}, w.others...) {
		if len(read) < len(base) || !slices.EqualFunc(read[:len(base)], base, bytes.Equal) {
			continue
		}
		rest := read[len(base):]
		begins := func(all [][]byte) bool {
			return len(rest) <= len(all) && slices.EqualFunc(rest, all[:len(rest)], bytes.Equal)
		}
		if len(rest) == 0 || slices.ContainsFunc(w.tried, begins) {
			w.kept, w.tried, w.others = read, nil, nil
			return
		}
	}
	w.problem = fmt.Errorf("read %d records %.20q, acknowledged were %d %.20q", len(read), read,
		len(w.kept), w.kept)
}

// A store that loses its power comes back with every decision that was saved, and every event that
// is not acknowledged. What an operation did between is in its records: they are saved before it
// starts.
//
// fault: F22
func TestStore_KeepsWhatItSavedThroughPowerCuts(t *testing.T) {
	testpart.Rotate(t)
	root := durabletest.TempDir(t)
	for n := range (*powerCuts + cutsOfWorld - 1) / cutsOfWorld {
		seed := *powerSeed + uint64(n)
		w := &storeWorld{random: rand.New(rand.NewPCG(seed, 1)), steps: map[string]int{},
			started: map[string]int{}}
		if err := w.live(filepath.Join(root, fmt.Sprint(n))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// storeWorld is a store through power cuts. Its deployments have one step each, whose attempt
// counts the starts of a plugin.
type storeWorld struct {
	random *rand.Rand
	// steps are the attempts that were saved, started those that then began; pending is an entry
	// whose saving failed.
	steps, started map[string]int
	last, acked    int64
	pending        []entry
}

func (w *storeWorld) live(dir string) error {
	if err := durable.MakeDir(durable.OS{}, dir, 0o700); err != nil {
		return err
	}
	for life := range cutsOfWorld {
		disk, err := durabletest.New(dir)
		if err != nil {
			return err
		}
		disk.CutAfter(w.random.IntN(80), nil)
		if err := w.work(disk, dir); err != nil {
			return err
		}
		next := fmt.Sprintf("%s-%d", dir, life)
		if err := disk.Survive(w.random, next); err != nil {
			return err
		}
		dir = next
	}
	disk, err := durabletest.New(dir)
	if err != nil {
		return err
	}
	s, err := w.open(disk, dir)
	if err != nil {
		return err
	}
	return s.close()
}

// work saves until the power is off.
func (w *storeWorld) work(disk *durabletest.Disk, dir string) error {
	s, err := w.open(disk, dir)
	if disk.IsOff() {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	machines := map[string]*engine.Machine{}
	for id, attempt := range w.steps {
		machines[id] = engine.Replay(id, recordsOf(id, attempt))
	}
	for !disk.IsOff() {
		if w.random.IntN(8) == 0 {
			_ = s.rewriteJournal(time.Unix(0, 0), machines) // The longer file is as good.
			continue
		}
		w.pending = w.newEntries()
		if s.saveEntries(w.pending) != nil {
			continue
		}
		w.take()
		for id, attempt := range w.steps {
			machines[id] = engine.Replay(id, recordsOf(id, attempt))
			w.started[id] = attempt // the effect, which nothing takes back
		}
	}
	return nil
}

// take counts the pending entries as saved.
func (w *storeWorld) take() {
	for _, e := range w.pending {
		w.takeEntry(e)
	}
	w.pending = nil
}

func (w *storeWorld) takeEntry(e entry) {
	if e.Deployment != "" {
		w.steps[e.Deployment]++
	}
	w.last += int64(len(e.Events))
	w.acked = max(w.acked, e.Acked)
}

func (w *storeWorld) newEntries() (all []entry) {
	if w.acked < w.last && w.random.IntN(4) == 0 {
		return []entry{{Acked: w.acked + 1, Confirmed: w.acked + 1}}
	}
	for _, id := range []string{"d1", "d2", "d3"}[w.random.IntN(3):] {
		all = append(all, entry{Deployment: id, Records: recordsOf(id, w.steps[id]+1),
			Events: make([]wire.Event, w.random.IntN(3))})
	}
	return all
}

// recordsOf are the records of a deployment whose plugin was started that often.
func recordsOf(id string, attempt int) []engine.Record {
	goal := wire.Goal{Deployment: id, Generation: 1, Want: wire.WantPresent, Run: "r",
		Pipeline: pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"make"},
			Steps: []pipeline.Step{{Key: "make", Plugin: &pipeline.PluginStep{Name: "make"}}}}}
	return []engine.Record{{Work: &goal}, {Step: &engine.StepState{Key: "make", Started: true,
		Attempt: attempt, Status: pipeline.StepRunning}}}
}

// open compares what is there with what was saved: all of it, and a beginning of what was being
// saved when the power was cut.
func (w *storeWorld) open(disk *durabletest.Disk, dir string) (*store, error) {
	s, machines, damage, err := openStore(disk, dir, nil)
	if disk.IsOff() {
		if err == nil {
			_ = s.close()
		}
		return nil, nil
	}
	if err = errors.Join(err, damage); err != nil {
		return nil, err
	}
	for !w.matches(s, machines) {
		if len(w.pending) == 0 {
			found, _ := json.Marshal(machines)
			return nil, errors.Join(fmt.Errorf("there is %s, events to %d, acknowledged %d; saved was "+
				"%v, %d, %d", found, s.last, s.acked, w.steps, w.last, w.acked), s.close())
		}
		w.takeEntry(w.pending[0])
		w.pending = w.pending[1:]
	}
	w.pending = nil
	for id, begun := range w.started {
		if w.steps[id] < begun {
			return nil, errors.Join(fmt.Errorf("start %d of %s is not known", begun, id), s.close())
		}
	}
	return s, nil
}

func (w *storeWorld) matches(s *store, machines map[string]*engine.Machine) bool {
	if s.last != w.last || s.acked != w.acked || len(machines) != len(w.steps) {
		return false
	}
	first, _, _ := s.seqNumbers()
	if first > w.acked+1 || len(s.events) != int(w.last-first+1) {
		return false
	}
	for id, m := range machines {
		if got := m.Snapshot(); got[len(got)-1].Step.Attempt != w.steps[id] {
			return false
		}
	}
	return true
}

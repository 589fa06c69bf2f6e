package agent

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
)

// Compaction keeps the machines and the events, and drops history.
func TestStore_CompactsWithoutLosingAnything(t *testing.T) {
	dir := t.TempDir()
	s, _, _, err := openStore(durable.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := engine.New("d")
	now := time.Now()
	goal := wire.Goal{Deployment: "d", Generation: 1, Want: wire.WantPresent, Run: "r"}
	e := entry{Deployment: "d"}
	for _, effect := range m.Step(now, engine.GoalSet{Goal: goal}) {
		switch effect := effect.(type) {
		case engine.Record:
			e.Records = append(e.Records, effect)
		case engine.Report:
			e.Events = append(e.Events, effect.Event)
		}
	}
	if err := s.saveEntries([]entry{e, {Acked: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.rewriteJournal(now, map[string]*engine.Machine{"d": m}); err != nil {
		t.Fatal(err)
	}
	if err := s.saveEntries([]entry{{Events: []wire.Event{{Deployment: "d", At: now}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s, machines, damage, err := openStore(durable.OS{}, dir, nil)
	if err != nil || damage != nil {
		t.Fatalf("open again: %v, damage %v", err, damage)
	}
	defer func() { _ = s.close() }()
	if machines["d"] == nil || machines["d"].State() != m.State() {
		t.Errorf("the machine came back as %+v", machines["d"])
	}
	first, last, acked := s.seqNumbers()
	if first != 1 || last != int64(len(e.Events))+1 || acked != 1 {
		t.Errorf("events %d to %d, acked %d", first, last, acked)
	}
}

// Acknowledged events are kept for a while, then go; others never do.
func TestStore_TrimsOnlyWhatIsAcknowledgedAndOld(t *testing.T) {
	now := time.Now()
	s := &store{}
	s.applyEntry(entry{Acked: 2, Events: []wire.Event{{Seq: 1, At: now.Add(-25 * time.Hour)},
		{Seq: 2, At: now}, {Seq: 3, At: now.Add(-25 * time.Hour)}}})
	s.trimEvents(now)
	if got := s.eventsAfter(0, 10); len(got) != 2 || got[0].Seq != 2 {
		t.Errorf("kept %+v", got)
	}
}

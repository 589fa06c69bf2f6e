package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/pipeline"
)

// BenchmarkJournal is what `make bench` publishes as journal_fsync: how many
// records a second are on the disk when they count. "one" is a decision that
// comes alone, "sixteen" as many at once as a busy agent has, and "plain" the
// least that anybody could do: the same bytes, a write and an fsync for each. They
// take turns at every record, since a disk is now quick and now slow.
func BenchmarkJournal(b *testing.B) {
	s, _, _, err := openStore(durable.OS{}, b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.close() }()
	f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	ways := []struct {
		name    string
		records int
		write   func() error
		took    time.Duration
	}{
		{name: "one", records: 1, write: func() error { return s.saveEntries(batchOf(1)) }},
		{name: "sixteen", records: 16, write: func() error { return s.saveEntries(batchOf(16)) }},
		{name: "plain", records: 1, write: func() error { return writePlain(f) }},
	}
	rounds := 0
	for b.Loop() {
		for i := range ways {
			began := time.Now()
			if err := ways[i].write(); err != nil {
				b.Fatal(err)
			}
			ways[i].took += time.Since(began)
		}
		rounds++
	}
	for _, w := range ways {
		b.ReportMetric(float64(rounds*w.records)/w.took.Seconds(), w.name+"/s")
	}
}

func batchOf(n int) []entry {
	batch := make([]entry, n)
	for i := range batch {
		batch[i] = stepMoved()
	}
	return batch
}

func writePlain(f *os.File) error {
	data, err := json.Marshal(stepMoved())
	if err == nil {
		_, err = f.Write(data)
	}
	if err != nil {
		return err
	}
	return f.Sync()
}

// stepMoved returns what the engine records and reports when a step moves on.
func stepMoved() entry {
	return entry{Deployment: "01890000-0000-7000-8000-000000000000",
		Records: []engine.Record{{Step: &engine.StepState{Key: "migrate", Started: true,
			Attempt: 1, Status: pipeline.StepRunning}}},
		Events: []wire.Event{{Deployment: "01890000-0000-7000-8000-000000000000", Generation: 1,
			Run: "01890000-0000-7000-8000-000000000001", At: time.Unix(1800000000, 0),
			Step: "migrate", Status: pipeline.StepRunning}}}
}

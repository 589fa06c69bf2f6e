package ingress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/wait"
)

// savedTable is the file's form. Fields are only ever added.
type savedTable struct {
	Version uint64  `json:"version"`
	Routes  []Route `json:"routes"`
	Zones   []Zone  `json:"zones,omitempty"`
}

// loadSaved applies the table that was saved last. An unusable file is logged and ignored:
// the source will send the table, which replaces the file.
func (w *Watcher) loadSaved() {
	err := durable.RemoveTemporary(w.disk, filepath.Dir(w.file), filepath.Base(w.file))
	if err != nil {
		w.log.Warn("half-written route tables of an earlier run were not removed", "error", err)
	}
	t, err := readTable(w.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.log.Warn("saved route table is not usable, waiting for the source", "error", err)
	default:
		w.apply(t)
	}
}

func readTable(file string) (*Table, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read route table: %w", err)
	}
	var s savedTable
	if err := durable.UnmarshalChecked(data, &s); err != nil {
		return nil, fmt.Errorf("read route table %s: %w", file, err)
	}
	return provisionalTable(s.Version, s.Routes).WithZones(s.Zones), nil
}

// saveRegularly writes the newest table whenever there is one.
func (w *Watcher) saveRegularly(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-w.dirty:
			w.writeFile()
			_ = wait.Sleep(ctx, saveEvery) // The loop ends with ctx.
		}
	}
}

// flushUnsaved writes what came after the last save.
func (w *Watcher) flushUnsaved() {
	select {
	case <-w.dirty:
		w.writeFile()
	default:
	}
}

func (w *Watcher) writeFile() {
	if err := writeTable(w.disk, w.file, w.latest.Load()); err != nil {
		w.log.Warn("route table not saved, a restart would have to wait for the source",
			"error", err)
	}
}

// writeTable replaces the file in one step: after a crash or a loss of power there is the old
// table or the new one, never half of one.
func writeTable(disk durable.FS, file string, t *Table) error {
	data, err := durable.MarshalChecked(savedTable{t.Version(), t.Routes(), t.Zones()})
	if err != nil {
		return fmt.Errorf("encode route table: %w", err)
	}
	if err := durable.WriteFile(disk, file, data, 0o600); err != nil {
		return fmt.Errorf("save route table: %w", err)
	}
	return nil
}

package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nullops/nullops/internal/wait"
)

// savedTable is the file's form. Fields are only ever added.
type savedTable struct {
	Version uint64  `json:"version"`
	Routes  []Route `json:"routes"`
	Zones   []Zone  `json:"zones,omitempty"`
}

// loadSaved applies the table that was saved last. An unusable file is logged and ignored:
// the source will send the table.
func (w *Watcher) loadSaved() {
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
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("decode route table %s: %w", file, err)
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
	if err := writeTable(w.file, w.latest.Load()); err != nil {
		w.log.Warn("route table not saved, a restart would have to wait for the source",
			"error", err)
	}
}

// writeTable replaces the file in one step: after a crash there is the old
// table or the new one, never half of one.
func writeTable(file string, t *Table) (err error) {
	data, err := json.Marshal(savedTable{t.Version(), t.Routes(), t.Zones()})
	if err != nil {
		return fmt.Errorf("encode route table: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return fmt.Errorf("save route table: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save route table: %w", err), os.Remove(tmp.Name()))
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err = tmp.Sync(); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

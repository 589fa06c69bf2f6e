package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// slowWrite is how long one write to the data folder may take before a check warns about
	// it. A healthy disk needs milliseconds, a busy one some hundred.
	slowWrite = 2 * time.Second
	// slowFor is how long the check keeps warning after the last slow write.
	slowFor = 30 * time.Second
	// diskCheckInterval is how soon a change is seen.
	diskCheckInterval = 250 * time.Millisecond
	// checkJournal is a stable word: people write rules about it.
	checkJournal = "journal"
)

// diskWatch measures writes to the data folder. Reading it never blocks on the disk.
type diskWatch struct {
	mu sync.Mutex
	// began is when the running write began; zero if none is running.
	began time.Time
	// slow is how long the last slow write took, slowAt when it ended.
	slow   time.Duration
	slowAt time.Time
	// refused is why the last write failed, nil when it did not.
	refused error
}

func (w *diskWatch) beginWrite(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = now
}

func (w *diskWatch) endWrite(now time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if took := now.Sub(w.began); took > slowWrite {
		w.slow, w.slowAt = took, now
	}
	w.began, w.refused = time.Time{}, err
}

// writeCheck returns the check of the data folder's disk. A node whose agent cannot write
// accepts no new work.
func (w *diskWatch) writeCheck(now time.Time, dir string) wire.Check {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := wire.Check{ID: checkJournal, Severity: wire.SeverityWarning,
		Remedy: "Find out what keeps the disk of " + dir + " busy, or whether it fails."}
	running := now.Sub(w.began)
	switch {
	case w.refused != nil:
		c.Severity = wire.SeverityCritical
		c.Detail = "The agent cannot write to its data folder, so nothing new begins: " +
			w.refused.Error()
		c.Remedy = "Free some space on the disk of " + dir + ", or make it writable."
	case !w.began.IsZero() && running > slowWrite:
		c.Detail = fmt.Sprintf("A write to the agent's data folder has been taking %s so far; what "+
			"is to begin waits for it.", quantity.FormatDuration(running.Round(time.Second)))
	case !w.slowAt.IsZero() && now.Sub(w.slowAt) < slowFor:
		c.Detail = fmt.Sprintf("A write to the agent's data folder took %s.",
			quantity.FormatDuration(w.slow.Round(100*time.Millisecond)))
	default:
		c.Severity, c.Remedy = wire.SeverityOK, ""
		c.Detail = "Writes to the agent's data folder are quick."
	}
	return c
}

// watchDisk sends an updated check to connected control planes when the disk gets worse or
// recovers.
func (iv *nodeInventory) watchDisk(ctx context.Context) error {
	tick := time.NewTicker(diskCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		iv.updateDiskCheck(iv.disk.writeCheck(time.Now(), iv.config.Data))
	}
}

// updateDiskCheck updates the disk's check in the inventory. It does not ask the engine,
// which may be on the same disk. A changed duration alone is not sent.
func (iv *nodeInventory) updateDiskCheck(found wire.Check) {
	iv.mu.Lock()
	defer iv.mu.Unlock()
	checks := slices.Clone(iv.inventory.seen.Checks)
	at := slices.IndexFunc(checks, func(c wire.Check) bool { return c.ID == checkJournal })
	if at < 0 || checks[at].Severity == found.Severity {
		return
	}
	checks[at] = found
	iv.inventory.seen.Checks = checks
	iv.inventory.version++
}

package ingress

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/wait"
)

// Source knows the routes.
type Source interface {
	// Watch calls apply with the table as it is now and again after each
	// change, one call at a time, until ctx ends or the source is lost. It
	// returns why it ended, never nil. A source that cannot be read is an
	// error, never an empty table.
	Watch(ctx context.Context, apply func(*Table)) error
}

const (
	// firstWait is short: most losses are a restart of the control plane.
	firstWait = 100 * time.Millisecond
	// maxWait keeps a forgotten ingress from being a load.
	maxWait = 15 * time.Second
	// saveEvery bounds how often the file is written while routes flap.
	saveEvery = time.Second
)

// errSilent replaces the missing reason of a source that ended too early.
var errSilent = errors.New("the source ended without a reason")

// Watcher follows a source of tables until its context ends, and applies each one. If the
// source is lost, the last table stays in use.
type Watcher struct {
	source Source
	apply  func(*Table)
	file   string
	disk   durable.FS
	log    *slog.Logger

	warned map[string]bool // hosts left out of the last table
	latest atomic.Pointer[Table]
	dirty  chan struct{} // holds one: there is something newer to save
}

// NewWatcher makes a watcher that hands tables to apply, usually
// Proxy.SetTable. If file is not empty, the last table is kept there and
// handed on at the start, before the source has said anything; its folder must
// exist.
func NewWatcher(source Source, apply func(*Table), file string, log *slog.Logger) *Watcher {
	return &Watcher{
		source: source, apply: apply, file: file, disk: durable.OS{}, log: log,
		dirty: make(chan struct{}, 1),
	}
}

// Run follows the source until ctx ends, and then returns nil. The last table
// is in the file by then.
func (w *Watcher) Run(ctx context.Context) error {
	if w.file == "" {
		w.followSource(ctx)
		return nil
	}
	w.loadSaved()
	var saver sync.WaitGroup
	saver.Go(func() { w.saveRegularly(ctx) })
	w.followSource(ctx)
	saver.Wait()
	w.flushUnsaved()
	return nil
}

// followSource reconnects until ctx ends. The delay doubles up to maxWait and is reset once
// a table has arrived.
func (w *Watcher) followSource(ctx context.Context) {
	pause := firstWait
	for ctx.Err() == nil {
		healthy := false
		err := w.source.Watch(ctx, func(t *Table) {
			healthy = true
			w.acceptTable(t)
		})
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errSilent
		}
		if healthy {
			pause = firstWait
		}
		w.logLoss(ctx, err, pause)
		_ = wait.Sleep(ctx, pause/2+rand.N(pause)) // The loop ends with ctx.
		pause = min(2*pause, maxWait)
	}
}

// logLoss logs a warning for the first failure, and debug messages while the loss lasts.
func (w *Watcher) logLoss(ctx context.Context, err error, pause time.Duration) {
	level := slog.LevelDebug
	if pause == firstWait {
		level = slog.LevelWarn
	}
	w.log.Log(ctx, level, "route table source lost, keeping the last table",
		"error", err, "retry_in", pause)
}

func (w *Watcher) acceptTable(t *Table) {
	w.warnRejected(t.rejected)
	w.apply(t)
	w.latest.Store(t)
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// warnRejected logs each rejected route once, not with each of a hundred tables a second.
func (w *Watcher) warnRejected(rejected []RejectedRoute) {
	warned := make(map[string]bool, len(rejected))
	for _, r := range rejected {
		if warned[r.Host] = true; !w.warned[r.Host] {
			w.log.Warn("route left out of the table", "host", r.Host, "reason", r.Reason)
		}
	}
	w.warned = warned
}

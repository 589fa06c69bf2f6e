package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// beatEvery is how often a dead man's switch hears of us; callWithin bounds one call.
	beatEvery  = time.Minute
	callWithin = 10 * time.Second
	// watchEvery is how often a process tells of itself, and looks after the others; lostAfter,
	// after how long without a sign of life the control plane counts as gone.
	watchEvery = 10 * time.Second
	lostAfter  = 45 * time.Second
)

// NewHeartbeat returns a function that calls a dead man's switch once a minute at most: a
// service elsewhere that alerts when the calls stop. The address is a setting of the operator's.
func NewHeartbeat(address string, now func() time.Time) func(context.Context) error {
	if address == "" {
		return nil
	}
	var due time.Time
	return func(ctx context.Context) error {
		if now().Before(due) {
			return nil
		}
		if err := post(ctx, address, []byte(`{"event":"alert.heartbeat"}`)); err != nil {
			return fmt.Errorf("setting alerts.heartbeat: %w", err)
		}
		due = now().Add(beatEvery)
		return nil
	}
}

func post(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("its address is not one")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "NullOps")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		// The library's error repeats the address, which may be a password in itself.
		return errors.New("it does not answer")
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10)
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", answer.StatusCode)
	}
	return nil
}

// Watcher tells that a process is alive. In an ingress, it also watches the control plane, which
// cannot tell by itself that it is gone.
type Watcher struct {
	Store   *postgres.Store
	ID      string
	Role    controlplane.ProcessRole
	Release string
	// Report reads what only the process knows.
	Report func(context.Context) controlplane.ProcessReport
	// Beside is what the process does each time it has told; nil is nothing.
	Beside func(context.Context) error
	// Down is told when no control plane is alive, and when one is again; empty tells the log only.
	Down string
	Log  *slog.Logger

	// since is when it first told, and reached when it last could. down is set while no control
	// plane is alive, untold until Down took the news.
	since, reached time.Time
	down, untold   bool
}

// Run tells until ctx ends, and then that the process was stopped.
func (w *Watcher) Run(ctx context.Context) error {
	for {
		if err := w.tell(ctx); err != nil && ctx.Err() == nil {
			w.Log.DebugContext(ctx, "could not tell that this process is alive", "error", err)
		}
		if wait.Sleep(ctx, watchEvery) != nil {
			break
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = w.Store.InTx(last, func(tx *postgres.Tx) error { return tx.Processes().Stop(last, w.ID) })
	return nil
}

func (w *Watcher) tell(ctx context.Context) error {
	alive, err := w.putAlive(ctx)
	if err == nil {
		w.reached = time.Now()
		w.tellWhenGone(ctx, alive, noSign)
	} else if w.Role == controlplane.RoleIngress && time.Since(w.reached) > lostAfter &&
		!w.reached.IsZero() && ctx.Err() == nil {
		w.tellWhenGone(ctx, false, noDatabase)
	}
	return err
}

// putAlive tells the database of this process. An ingress learns whether a control plane is alive.
func (w *Watcher) putAlive(ctx context.Context) (alive bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchEvery)
	defer cancel()
	live, report := int64(1), w.Report(ctx)
	err = w.Store.InTx(ctx, func(tx *postgres.Tx) error {
		asked := time.Now()
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		// Half the way there and back is the best guess of when the database looked.
		skew := asked.Add(time.Since(asked) / 2).Sub(now)
		err = tx.Processes().Put(ctx, controlplane.Process{ID: w.ID, Role: w.Role,
			Release: w.Release, Skew: skew, Report: report})
		if err == nil && w.Role == controlplane.RoleIngress {
			live, err = tx.Processes().CountLive(ctx, controlplane.RoleControlPlane, lostAfter)
		}
		return err
	})
	if err == nil && w.Beside != nil {
		err = w.Beside(ctx)
	}
	return live > 0, err
}

// tellWhenGone tells once that the control plane is gone, and once that it is back. Both may have
// been started at the same time, so it waits before it believes the first.
func (w *Watcher) tellWhenGone(ctx context.Context, alive bool, why string) {
	if w.since.IsZero() {
		w.since = time.Now()
	}
	if !alive && time.Since(w.since) < lostAfter {
		return
	}
	if w.down == alive {
		w.down, w.untold = !alive, true
		w.Log.WarnContext(ctx, "a control plane is gone, or back", "alive", alive)
	}
	if !w.untold || w.Down == "" {
		return
	}
	if err := post(ctx, w.Down, downMessage(w.down, why)); err != nil {
		w.Log.WarnContext(ctx, "setting alerts.down: nobody was told; it is tried again",
			"error", err)
		return
	}
	w.untold = false
}

// Why an ingress says that the control plane is down. Without the database no control plane can do
// anything, nor tell anybody.
const (
	noSign = "No control plane has given a sign of life for 45 seconds. Check that it runs and " +
		"reaches its database."
	noDatabase = "The ingress has not reached the database for 45 seconds, without which no control " +
		"plane works. Check that PostgreSQL runs, and the network to it."
)

func downMessage(down bool, why string) []byte {
	m := struct {
		Event     string `json:"event"`
		Condition string `json:"condition"`
		Summary   string `json:"summary"`
	}{"alert.ended", "controlplane.down", "A control plane is alive again."}
	if down {
		m.Event, m.Summary = "alert.started", why
	}
	b, _ := json.Marshal(m) // It cannot fail: these are strings.
	return b
}

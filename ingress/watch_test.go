package ingress_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/ingress"
)

// cspHash plays a script: each call of Watch is one step of it.
type cspHash struct {
	calls  []time.Time
	script func(ctx context.Context, call int, apply func(*ingress.Table)) error
}

func (s *cspHash) Watch(ctx context.Context, apply func(*ingress.Table)) error {
	s.calls = append(s.calls, time.Now())
	return s.script(ctx, len(s.calls), apply)
}

func followTables(t *testing.T, s *cspHash, file string, d time.Duration) []*ingress.Table {
	t.Helper()
	var got []*ingress.Table
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	w := ingress.NewWatcher(s, func(t *ingress.Table) { got = append(got, t) }, file, quietLogger())
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return got
}

// A source that is away is asked for ever, at first soon and then every
// 7.5 to 22.5 s; the last table is not replaced meanwhile.
func TestWatcher_ConnectsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cspHash{script: func(_ context.Context, call int, apply func(*ingress.Table)) error {
			if call == 1 {
				apply(ingress.NewTable(1, makeRoutes(3)))
			}
			return errors.New("connection refused")
		}}
		got := followTables(t, s, "", time.Hour)
		if len(got) != 1 || got[0].Len() != 3 {
			t.Errorf("tables = %v", got)
		}
		if n := len(s.calls); n < 160 || n > 480 {
			t.Errorf("%d attempts in an hour", n)
		}
		if d := s.calls[1].Sub(s.calls[0]); d > 200*time.Millisecond {
			t.Errorf("first retry after %v", d)
		}
		steady, same := s.calls[10:], true
		for i := range steady[1:] {
			d := steady[i+1].Sub(steady[i])
			same = same && d == steady[1].Sub(steady[0])
			if d < 7*time.Second || d > 23*time.Second {
				t.Errorf("retry after %v", d)
			}
		}
		if same {
			t.Error("the waits have no jitter")
		}
	})
}

func TestWatcher_WaitsLittleAfterHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cspHash{script: func(_ context.Context, call int, apply func(*ingress.Table)) error {
			if call > 20 {
				apply(ingress.NewTable(uint64(call), makeRoutes(1)))
			}
			return nil // which breaks the contract, and must not end the watch
		}}
		followTables(t, s, "", 5*time.Minute)
		if len(s.calls) < 100 {
			t.Fatalf("%d calls: the wait did not start anew", len(s.calls))
		}
	})
}

// A source that is lost is a warning once, and details after that.
func TestWatcher_WarnsOnceOfALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cspHash{script: func(context.Context, int, func(*ingress.Table)) error {
			return errors.New("connection refused")
		}}
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		w := ingress.NewWatcher(s, func(*ingress.Table) {}, "", slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelDebug})))
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		all, warnings := strings.Count(log.String(), "connection refused"),
			strings.Count(log.String(), "level=WARN")
		if warnings != 1 || all != len(s.calls) {
			t.Errorf("%d warnings, %d of %d told:\n%s", warnings, all, len(s.calls), log.String())
		}
	})
}

// After a restart the last good table is there before the source is.
func TestWatcher_KeepsTheLastTableOnDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes.json")
	synctest.Test(t, func(t *testing.T) {
		first := &cspHash{script: func(ctx context.Context, _ int, apply func(*ingress.Table)) error {
			for v := range uint64(50) {
				apply(ingress.NewTable(v, makeRoutes(int(v))))
			}
			time.Sleep(5 * time.Second)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("nothing is saved before the end: %v", err)
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		followTables(t, first, file, 10*time.Second)
		away := &cspHash{script: func(context.Context, int, func(*ingress.Table)) error {
			return errors.New("connection refused")
		}}
		got := followTables(t, away, file, time.Minute)
		if len(got) != 1 || got[0].Version() != 49 || got[0].Len() != 49 {
			t.Fatalf("tables after a restart = %v", got)
		}
	})
	all, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(all) != 1 {
		t.Errorf("left behind: %v %v", all, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v %v", info, err)
	}
}

// The table that came last is saved even if the end comes at once.
func TestWatcher_SavesAtTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes.json")
	synctest.Test(t, func(t *testing.T) {
		s := &cspHash{script: func(ctx context.Context, _ int, apply func(*ingress.Table)) error {
			<-ctx.Done()
			apply(ingress.NewTable(9, makeRoutes(9)))
			return ctx.Err()
		}}
		followTables(t, s, file, time.Second)
		if got := followTables(t, s, file, time.Second); got[0].Version() != 9 {
			t.Errorf("saved %d", got[0].Version())
		}
	})
}

func TestWatcher_BadFileIsPassedOver(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut": `{"version":3,"routes":[{"host":"a`, "other": `[1,2]`, "binary": "\x00\xff",
	} {
		file := filepath.Join(t.TempDir(), "routes.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			s := &cspHash{script: func(ctx context.Context, _ int, apply func(*ingress.Table)) error {
				apply(ingress.NewTable(4, makeRoutes(2)))
				<-ctx.Done()
				return ctx.Err()
			}}
			if got := followTables(t, s, file, time.Second); len(got) != 1 || got[0].Version() != 4 {
				t.Errorf("%s: %v", name, got)
			}
			if got := followTables(t, s, file, time.Second); len(got) != 2 {
				t.Errorf("%s: the file was not replaced", name)
			}
		})
	}
}

func TestWatcher_FolderThatIsNotThereHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cspHash{script: func(ctx context.Context, _ int, apply func(*ingress.Table)) error {
			apply(ingress.NewTable(4, makeRoutes(2)))
			<-ctx.Done()
			return ctx.Err()
		}}
		file := filepath.Join(t.TempDir(), "no", "routes.json")
		if got := followTables(t, s, file, time.Second); len(got) != 1 {
			t.Errorf("tables = %v", got)
		}
	})
}

// A bad route is logged when it appears and when it comes back, not with every table in between.
func TestWatcher_WarnsOnceOfABadRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := append(makeRoutes(2), poisonRoute(newRoute("cart", "web"), 0))
		s := &cspHash{script: func(ctx context.Context, _ int, apply func(*ingress.Table)) error {
			for range 10 {
				apply(ingress.NewTable(1, bad))
			}
			apply(ingress.NewTable(2, makeRoutes(2)))
			apply(ingress.NewTable(3, bad))
			<-ctx.Done()
			return ctx.Err()
		}}
		var log bytes.Buffer
		w := ingress.NewWatcher(s, func(*ingress.Table) {}, "",
			slog.New(slog.NewJSONHandler(&log, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "web_1."+domain); n != 4 { // host and reason, twice
			t.Errorf("named %d times: %s", n, log.String())
		}
	})
}

package alerts

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// An ingress tells once that no control plane is alive, and once that one is again; it tries again
// when nobody took the news, and waits before it believes that there is none.
func TestWatcher_WatchesTheControlPlane(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	refuses := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if refuses {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		told = append(told, string(body))
	}))
	defer server.Close()
	url := pgtest.URL(t, migrations.FS)
	link, through := pgtest.NewProxy(t, url)
	w := &Watcher{Store: pgtest.Open(t, through), ID: "host/1/ingress", Role: controlplane.RoleIngress,
		Release: "v1", Down: server.URL, Log: slog.New(slog.DiscardHandler),
		Report: func(context.Context) controlplane.ProcessReport {
			return controlplane.ProcessReport{RoutesAge: 1}
		}}
	expect := func(when string, want ...string) {
		t.Helper()
		if err := w.tell(t.Context()); (err != nil) != strings.HasPrefix(when, "without") {
			t.Fatalf("%s: %v", when, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(told) != len(want) {
			t.Fatalf("%s, %q is told, want %q", when, told, want)
		}
		for i := range want {
			if !strings.Contains(told[i], want[i]) {
				t.Errorf("%s, %q is told, want %q", when, told, want)
			}
		}
	}
	const down, back = `"event":"alert.started","condition":"controlplane.down"`, `"alert.ended"`
	expect("right after the start")
	w.since = time.Now().Add(-time.Minute)
	refuses = true
	expect("while nobody takes the news")
	refuses = false
	expect("when no control plane is alive", down)
	expect("and later", down)
	pgtest.Exec(t, url, `INSERT INTO processes (id, role, release)
		VALUES ('host/2', 'controlplane', 'v1')`)
	expect("when one is back", down, back)
	pgtest.Exec(t, url, "UPDATE processes SET stopped_at = now() WHERE role = 'controlplane'")
	expect("when it was stopped", down, back, down)
	pgtest.Exec(t, url, "UPDATE processes SET stopped_at = NULL, seen_at = now()")
	expect("when it is back again", down, back, down, back)
	link.SetDown(true)
	expect("without the database at first", down, back, down, back)
	w.reached = time.Now().Add(-time.Minute)
	expect("without the database for a minute", down, back, down, back, "reached the database")
	link.SetDown(false)
	pgtest.Exec(t, url, "UPDATE processes SET seen_at = now()")
	expect("when the database is back", down, back, down, back, "reached the database", back)
	seen := pgtest.QueryValue[string](t, url, `SELECT report ->> 'routes_age' || ' ' ||
		(abs(skew) < 5)::text FROM processes WHERE id = 'host/1/ingress'`)
	if seen != "1 true" {
		t.Errorf("of the ingress, %q is known", seen)
	}
}

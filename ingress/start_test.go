package ingress_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// gatedSource sends no table until it is opened.
type gatedSource struct {
	open  chan struct{}
	table *ingress.Table
	told  chan struct{}
}

func (s *gatedSource) Watch(ctx context.Context, apply func(*ingress.Table)) error {
	select {
	case <-s.open:
		apply(s.table)
		close(s.told)
		<-ctx.Done()
	case <-ctx.Done():
	}
	return errors.New("the source ended")
}

// Before the first table, no response says that an existing deployment does not exist. A table of
// an earlier run serves what it knows, and says of nothing else that it is gone or unknown.
func TestProxy_NoTableIsNoUnknownHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ingress.state")
	for _, run := range []struct {
		name  string
		known int // what a known service answers before the source was read
	}{{"first", 503}, {"second", 200}} {
		b := newBed(t)
		web, gone := b.up("cart", "web", sayText("web")), newRoute("gone", "web")
		gone.State = ingress.StateRemoved
		source := &gatedSource{open: make(chan struct{}), told: make(chan struct{}),
			table: ingress.NewTable(1, []ingress.Route{web, gone})}
		loaded := make(chan struct{})
		once := sync.OnceFunc(func() { close(loaded) })
		watcher := ingress.NewWatcher(source, func(t *ingress.Table) { b.proxy.SetTable(t); once() },
			file, quietLogger())
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { _ = watcher.Run(ctx) })
		if run.known == 200 {
			<-loaded
		}
		check := func(when string, known, gone, unknown int) {
			t.Helper()
			for host, want := range map[string]int{web.Host: known, "web.gone.env." + domain: gone,
				"web.new.env." + domain: unknown} {
				res, _ := b.get(host)
				if res.StatusCode != want || want == 503 && res.Header.Get("Retry-After") == "" {
					t.Errorf("%s run, %s: %s answers %d, want %d", run.name, when, host, res.StatusCode, want)
				}
			}
		}
		check("before", run.known, 503, 503)
		close(source.open)
		<-source.told
		check("after", 200, 410, 404)
		stop()
		done.Wait()
	}
}

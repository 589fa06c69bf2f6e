package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/tracing"
)

const (
	// firstResponsesAtOnce bounds what waits to be looked up, tracedRunsKept what is remembered.
	firstResponsesAtOnce = 256
	tracedRunsKept       = 10_000
)

// ingressTraces traces requests to services, and writes the end of a run's trace: the first
// response that its services send to a visitor through this ingress.
type ingressTraces struct {
	store *postgres.Store
	// answered are first responses whose run is looked up.
	answered chan firstResponse

	mu sync.Mutex
	// seen are deployments whose first response was here since their route last changed.
	seen map[string]time.Time
}

type firstResponse struct {
	deployment string
	from, to   time.Time
}

func newIngressTraces(store *postgres.Store) *ingressTraces {
	return &ingressTraces{store: store, seen: map[string]time.Time{},
		answered: make(chan firstResponse, firstResponsesAtOnce)}
}

// begin is ingress.Config.Trace.
func (t *ingressTraces) begin(
	r *http.Request, route *ingress.Route,
) (*http.Request, func(status int)) {
	began := time.Now()
	deployment, since := route.DeploymentID, route.Since
	first := t.isFirst(deployment, since)
	r, end := tracing.Request(r, "ingress "+route.Service, "deployment_id", deployment)
	if end == nil && !first {
		return r, nil
	}
	return r, func(status int) {
		if end != nil {
			end(status)
		}
		if first && status > 0 && status < http.StatusInternalServerError {
			t.noteFirst(firstResponse{deployment, began, time.Now()}, since)
		}
	}
}

func (t *ingressTraces) isFirst(deployment string, since time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.seen[deployment]
	return !ok || !known.Equal(since)
}

func (t *ingressTraces) noteFirst(f firstResponse, since time.Time) {
	t.mu.Lock()
	known, ok := t.seen[f.deployment]
	fresh := !ok || !known.Equal(since)
	if len(t.seen) >= tracedRunsKept {
		clear(t.seen)
	}
	t.seen[f.deployment] = since
	t.mu.Unlock()
	if !fresh {
		return
	}
	select {
	case t.answered <- f:
	default:
	}
}

// run writes first responses until ctx ends.
func (t *ingressTraces) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-t.answered:
			t.recordFirst(ctx, f)
		}
	}
}

func (t *ingressTraces) recordFirst(ctx context.Context, f firstResponse) {
	var run controlplane.RunID
	var parent string
	err := t.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		run, parent, err = tx.Runs().LatestTrace(ctx, controlplane.DeploymentID(f.deployment))
		return err
	})
	if err != nil || parent == "" {
		return
	}
	tracing.RecordRunSpan(tracing.RunSpan{Parent: parent, Run: string(run),
		Parts: []string{"", "first response"}, Name: "first response through the ingress",
		From: f.from, To: f.to, Attributes: []string{"deployment_id", f.deployment}})
}

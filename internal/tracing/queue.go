package tracing

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// queuedSpans bounds the memory of spans that wait: a span takes a few hundred bytes.
	queuedSpans = 4096
	// batchSpans are sent together, or what is there after batchAfter.
	batchSpans = 512
	batchAfter = 2 * time.Second
	// exportTime bounds one request to the collector, with its retries.
	exportTime = 10 * time.Second
	// stopTime is what a process gives the collector when it ends.
	stopTime = 3 * time.Second
)

// spanQueue sends spans in batches. It never blocks who ends a span. The library's own processor
// does the same, but does not say how many spans it has dropped.
type spanQueue struct {
	exporter sdktrace.SpanExporter
	log      *slog.Logger
	spans    chan sdktrace.ReadOnlySpan
	// stop is closed once nothing more comes; stopped when all was sent.
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once

	sent, dropped atomic.Int64
}

var _ sdktrace.SpanProcessor = (*spanQueue)(nil)

func newSpanQueue(exporter sdktrace.SpanExporter, log *slog.Logger) *spanQueue {
	q := &spanQueue{exporter: exporter, log: log,
		spans: make(chan sdktrace.ReadOnlySpan, queuedSpans),
		stop:  make(chan struct{}), stopped: make(chan struct{})}
	go q.run()
	return q
}

// OnStart implements sdktrace.SpanProcessor.
func (q *spanQueue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (q *spanQueue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
	}
}

// ForceFlush implements sdktrace.SpanProcessor. Spans are sent within batchAfter anyway.
func (q *spanQueue) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanProcessor: it sends what is queued, for a short while.
func (q *spanQueue) Shutdown(ctx context.Context) error {
	q.once.Do(func() { close(q.stop) })
	select {
	case <-q.stopped:
	case <-ctx.Done():
	}
	return q.exporter.Shutdown(ctx)
}

func (q *spanQueue) run() {
	defer close(q.stopped)
	tick := time.NewTicker(batchAfter)
	defer tick.Stop()
	var batch []sdktrace.ReadOnlySpan
	failing := false
	send := func(limit time.Duration) {
		if len(batch) > 0 {
			failing = q.export(batch, limit, failing)
			batch = nil
		}
	}
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == batchSpans {
				send(exportTime)
			}
		case <-tick.C:
			send(exportTime)
		case <-q.stop:
			for {
				select {
				case s := <-q.spans:
					batch = append(batch, s)
					continue
				default:
				}
				break
			}
			send(stopTime)
			return
		}
	}
}

// export sends a batch and counts what became of it. The first failure is logged, and the first
// success after it.
func (q *spanQueue) export(
	batch []sdktrace.ReadOnlySpan, limit time.Duration, failing bool,
) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := q.exporter.ExportSpans(ctx, batch); err != nil {
		q.dropped.Add(int64(len(batch)))
		if !failing {
			q.log.WarnContext(ctx, "the collector of traces does not take spans; they are dropped "+
				"until it does", "error", err)
		}
		return true
	}
	q.sent.Add(int64(len(batch)))
	if failing {
		q.log.InfoContext(ctx, "the collector of traces takes spans again",
			"dropped", q.dropped.Load())
	}
	return false
}

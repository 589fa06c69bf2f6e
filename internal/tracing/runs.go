package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// RunSpan is a span of a run whose times are known afterwards.
type RunSpan struct {
	// Parent is the traceparent that the run was stored with.
	Parent string
	Run    string
	// Parts name the span in its run; the span of the run itself has none. A step is its key,
	// and what belongs to a step comes after it. Under is how many of them name its parent.
	Parts []string
	Under int
	Name  string
	From  time.Time
	To    time.Time
	// Failed says why it failed; empty if it did not. It must never be secret.
	Failed     string
	Attributes []string
}

// RecordRunSpan writes a span of a run.
func RecordRunSpan(s RunSpan) {
	ctx := parse(s.Parent)
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	if len(s.Parts) > 0 {
		ctx = below(ctx, spanIDOf(s.Run, s.Parts[:s.Under]...))
	}
	ctx = context.WithValue(ctx, spanIDKey{}, spanIDOf(s.Run, s.Parts...))
	_, span := otel.Tracer(scope).Start(ctx, s.Name, trace.WithTimestamp(s.From))
	span.SetAttributes(pairs(append(s.Attributes, "run_id", s.Run))...)
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(trace.WithTimestamp(s.To))
}

// WithStep puts what follows below a step of a run, or below the run if step is empty. A run
// without a traceparent leaves ctx as it is.
func WithStep(ctx context.Context, traceparent, run, step string) context.Context {
	c := trace.SpanContextFromContext(parse(traceparent))
	if !c.IsValid() {
		return ctx
	}
	parts := []string{}
	if step != "" {
		parts = append(parts, step)
	}
	return trace.ContextWithSpanContext(ctx, c.WithSpanID(spanIDOf(run, parts...)))
}

// OfStep is the traceparent of a step of a run; empty without a trace.
func OfStep(traceparent, run, step string) string {
	return Traceparent(WithStep(context.Background(), traceparent, run, step))
}

// TraceIDOf returns the trace that a traceparent belongs to, if that is sampled.
func TraceIDOf(traceparent string) string { return TraceID(parse(traceparent)) }

func below(ctx context.Context, id trace.SpanID) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(ctx).WithSpanID(id))
}

// parse reads a traceparent of our own, which was checked when it came in: whether it is sampled
// is decided already.
func parse(traceparent string) context.Context {
	ctx := propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": traceparent})
	return trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(ctx).WithRemote(false))
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		// The text of an error may hold what a service or a registry said; logs have it, masked.
		span.SetStatus(codes.Error, "failed")
	}
	span.End()
}

// Package tracing records traces with OpenTelemetry: what a request led to, from the API through
// the database, the queue, the node's agent and its container engine, to the first response of
// the ingress.
//
// It is off unless the standard variables OTEL_* name a collector, and costs nothing then: no
// span is made, and nothing is sent. Spans are sent over OTLP/HTTP by a queue of limited size. A
// collector that is slow or away loses spans, which are counted, and slows nothing down.
//
// A run is a trace of its own kind: the control plane, agents and ingresses write its spans at
// different times, and may be killed in between. So the spans of a run and of its steps have ids
// that follow from the run's: whoever has a span below them knows its parent.
package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names our spans among those of libraries.
const scope = "nullops"

// longestValue bounds an attribute, in bytes.
const longestValue = 500

// Tracing is what a process sends its spans through. Nil is tracing that is off.
type Tracing struct {
	provider *sdktrace.TracerProvider
	queue    *spanQueue
}

// IsOn reports whether the environment names a collector.
func IsOn(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") ||
		getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return getenv("OTEL_TRACES_EXPORTER") == "otlp" ||
		getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Start begins tracing as the variables OTEL_* say, and makes it the process's: libraries that
// know OpenTelemetry write into the same traces. It returns nil if tracing is off. service is
// used unless OTEL_SERVICE_NAME is set.
func Start(ctx context.Context, service, build string, log *slog.Logger) (*Tracing, error) {
	if !IsOn(os.Getenv) {
		return nil, nil
	}
	sampler, err := readSampler(os.Getenv)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("settings OTEL_EXPORTER_OTLP_…: %w", err)
	}
	// Variables come last, so that OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES count.
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", service), attribute.String("service.version", build)),
		resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("settings OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Tracing{queue: newSpanQueue(exporter, log)}
	t.provider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler),
		sdktrace.WithIDGenerator(idGenerator{}), sdktrace.WithResource(about),
		sdktrace.WithSpanProcessor(t.queue), sdktrace.WithRawSpanLimits(spanLimits()))
	processSampler.Store(&sampler)
	otel.SetTracerProvider(t.provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.WarnContext(ctx, "tracing", "error", err)
	}))
	return t, nil
}

// spanLimits bound what one span takes, whatever a caller or a service says.
func spanLimits() sdktrace.SpanLimits {
	l := sdktrace.NewSpanLimits()
	if l.AttributeValueLengthLimit <= 0 || l.AttributeValueLengthLimit > longestValue {
		l.AttributeValueLengthLimit = longestValue
	}
	return l
}

// Stop sends what is left and ends. It takes a few seconds at most.
func (t *Tracing) Stop(ctx context.Context) {
	if t != nil {
		_ = t.provider.Shutdown(ctx)
	}
}

// Counts are how many spans were sent, and how many were dropped: the queue was full, or the
// collector did not take them.
type Counts struct{ Sent, Dropped int64 }

// Counts returns what became of spans so far.
func (t *Tracing) Counts() Counts {
	if t == nil {
		return Counts{}
	}
	return Counts{Sent: t.queue.sent.Load(), Dropped: t.queue.dropped.Load()}
}

// TraceID returns the trace that ctx belongs to, in hexadecimal; empty without one, or if the
// trace is not sampled and so never reaches a collector.
func TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
}

// Traceparent returns what ctx belongs to in the form of the W3C header; empty without a trace.
func Traceparent(ctx context.Context) string {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%02x", c.TraceID(), c.SpanID(),
		byte(c.TraceFlags()&trace.FlagsSampled))
}

// IsRecording reports whether ctx has a span that is recorded here.
func IsRecording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Rename names the span of ctx by what it turned out to be.
func Rename(ctx context.Context, name string) { trace.SpanFromContext(ctx).SetName(name) }

// WithParent puts what follows below a traceparent of our own.
func WithParent(ctx context.Context, traceparent string) context.Context {
	if c := trace.SpanContextFromContext(parse(traceparent)); c.IsValid() {
		return trace.ContextWithSpanContext(ctx, c)
	}
	return ctx
}

// Span begins a span, which the returned function ends, with the error that it came to, if any.
// Attributes are pairs of key and value, and must never be secret. Without tracing, it costs a
// few nanoseconds.
func Span(ctx context.Context, name string, attributes ...string) (context.Context, func(error)) {
	ctx, span := otel.Tracer(scope).Start(ctx, name)
	if !span.IsRecording() {
		return ctx, func(error) {}
	}
	span.SetAttributes(pairs(attributes)...)
	return ctx, func(err error) { endSpan(span, err) }
}

func pairs(all []string) []attribute.KeyValue {
	var out []attribute.KeyValue
	for i := 0; i+1 < len(all); i += 2 {
		value := all[i+1]
		if len(value) > longestValue {
			// A part of a long text would keep all of it in memory.
			value = strings.ToValidUTF8(strings.Clone(value[:longestValue]), "")
		}
		if value != "" {
			out = append(out, attribute.String(all[i], value))
		}
	}
	return out
}

// idGenerator makes random ids, except for the spans of runs and for traces whose id is drawn.
type idGenerator struct{}

type (
	spanIDKey  struct{}
	traceIDKey struct{}
)

// processSampler decides about new traces; nil until Start.
var processSampler atomic.Pointer[sdktrace.Sampler]

// NewIDs implements sdktrace.IDGenerator.
func (g idGenerator) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if drawn, ok := ctx.Value(traceIDKey{}).(trace.TraceID); ok {
		return drawn, g.NewSpanID(ctx, drawn)
	}
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // it never fails, it ends the process
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (idGenerator) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if chosen, ok := ctx.Value(spanIDKey{}).(trace.SpanID); ok {
		return chosen
	}
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // it never fails, it ends the process
	}
	return id
}

// spanIDOf is the id of a run's span, or of something in the run that is named by parts.
func spanIDOf(run string, parts ...string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{run}, parts...), "\x00")))
	copy(id[:], sum[:])
	return id
}

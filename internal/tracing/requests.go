package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Handler traces the requests that a handler answers and that wanted chooses. A caller's
// traceparent continues its trace; one that is malformed is ignored.
func (t *Tracing) Handler(next http.Handler, wanted func(*http.Request) bool) http.Handler {
	if t == nil {
		return next
	}
	ordinary := func(r *http.Request) bool { return isOrdinary(r) && wanted(r) }
	return otelhttp.NewHandler(next, "request", otelhttp.WithFilter(ordinary),
		otelhttp.WithSpanNameFormatter(func(string, *http.Request) string { return "request" }))
}

// isOrdinary reports whether what a span would keep of a request is short. The library keeps whole
// header values, of which a stranger could fill the memory while the collector is slow.
func isOrdinary(r *http.Request) bool {
	kept := len(r.URL.Path) + len(r.Host) + len(r.Method)
	for _, name := range []string{"User-Agent", "Tracestate", "X-Forwarded-For"} {
		for _, value := range r.Header[name] {
			kept += len(value)
		}
	}
	return kept <= 4*longestValue
}

// Request begins the span of a request that is passed on to a service, which learns of it by its
// traceparent. The returned function ends it with the status of the response. A request that is
// not sampled is returned as it is, with nil.
func Request(r *http.Request, name string, attributes ...string) (*http.Request, func(int)) {
	ctx := r.Context()
	if r.Header["Traceparent"] != nil && isOrdinary(r) {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	} else {
		id, sampled := drawTrace()
		if !sampled {
			return r, nil
		}
		ctx = context.WithValue(ctx, traceIDKey{}, id)
	}
	ctx, span := otel.Tracer(scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return r, nil
	}
	span.SetAttributes(append(pairs(attributes), attribute.String("http.request.method", r.Method))...)
	r = r.WithContext(ctx)
	r.Header.Set("Traceparent", Traceparent(ctx))
	return r, func(status int) {
		if status > 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
		}
		if status == 0 || status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// drawTrace draws the id of a new trace, and says whether the trace is sampled. Most are not: the
// library would ask the kernel for random bytes and make a span to find out, which is most of what
// tracing costs a request. An id need not be unguessable.
func drawTrace() (id trace.TraceID, sampled bool) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // see above
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // see above
	}
	sampler := processSampler.Load()
	if sampler == nil {
		return id, true // whoever set up the library without Start has it decide
	}
	decided := (*sampler).ShouldSample(sdktrace.SamplingParameters{
		ParentContext: context.Background(), TraceID: id})
	return id, decided.Decision != sdktrace.Drop
}

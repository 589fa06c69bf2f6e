package server

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// traceOf names the trace of a context, if that is sampled: a trace that was not kept is nothing
// to look at.
func traceOf(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return ""
	}
	return span.TraceID().String()
}

package tracing

import (
	"fmt"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// readSampler reads OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.
//
// What comes from outside with a traceparent keeps its trace id, but whether it is sampled is
// decided here, by the id: a stranger who marks all requests as sampled gets no more than anybody
// else. Processes of ours follow each other's decision.
func readSampler(getenv func(string) string) (sdktrace.Sampler, error) {
	name := strings.ToLower(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")))
	var root sdktrace.Sampler
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		share, err := readShare(getenv("OTEL_TRACES_SAMPLER_ARG"))
		if err != nil {
			return nil, err
		}
		root = sdktrace.TraceIDRatioBased(share)
	default:
		return nil, fmt.Errorf("setting OTEL_TRACES_SAMPLER: %q is no sampler: use "+
			"parentbased_always_on, parentbased_traceidratio or always_off", name)
	}
	return sdktrace.ParentBased(root, sdktrace.WithRemoteParentSampled(root)), nil
}

func readShare(text string) (float64, error) {
	if text == "" {
		return 1, nil
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || share < 0 || share > 1 {
		return 0, fmt.Errorf("setting OTEL_TRACES_SAMPLER_ARG: %q is no share: "+
			"use a number from 0 to 1, such as 0.01", text)
	}
	return share, nil
}

package tracing

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// readSampler reads OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.
//
// What comes from outside with a traceparent keeps its trace id, but whether it is sampled is
// decided here, by the id: a stranger who marks all requests as sampled gets no more than anybody
// else, nor does one who chooses ids that are sampled, see strangers. Processes of ours follow each
// other's decision.
func readSampler(getenv func(string) string) (sdktrace.Sampler, error) {
	name := strings.ToLower(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")))
	var root, outside sdktrace.Sampler
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
		if share < 1 {
			outside = &strangers{Sampler: root, share: share}
		}
	default:
		return nil, fmt.Errorf("setting OTEL_TRACES_SAMPLER: %q is no sampler: use "+
			"parentbased_always_on, parentbased_traceidratio or always_off", name)
	}
	if outside == nil {
		outside = root
	}
	return sdktrace.ParentBased(root, sdktrace.WithRemoteParentSampled(outside)), nil
}

const (
	// freeStrangers is how many traces from outside may be sampled more than their share, so that
	// a person who looks for something with a few traces of their own gets them.
	freeStrangers = 20
	// rememberedStrangers is after how many of them the count is halved: a quiet year saves nothing up
	// for a flood.
	rememberedStrangers = 10_000
)

// strangers samples traces from outside, whose ids are chosen there: by the id, as long as that
// comes to twice the share at most. An id that is sampled is easy to find, and to send again.
type strangers struct {
	sdktrace.Sampler
	share float64

	mu            sync.Mutex
	seen, sampled float64
}

// ShouldSample implements sdktrace.Sampler.
func (s *strangers) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	decided := s.Sampler.ShouldSample(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen++; s.seen > rememberedStrangers {
		s.seen, s.sampled = s.seen/2, s.sampled/2
	}
	if decided.Decision == sdktrace.Drop {
		return decided
	}
	if s.sampled >= freeStrangers+2*s.share*s.seen {
		decided.Decision = sdktrace.Drop
		return decided
	}
	s.sampled++
	return decided
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

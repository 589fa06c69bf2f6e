package docker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// An image's own health check is what readiness waits for, as often as the step
// asks: this image's looks once an hour.
func TestProbe_ImageHealth(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for check, health := range map[string]string{
		`["/actor", "exit", "0"]`: "healthy", `["/actor", "exit", "1"]`: "unhealthy"} {
		s := r.service(id, pipeline.StepKey("is-"+health))
		s.Image = dockertest.ImportActorImage(t, r.host, "nullops-test/health", `ENTRYPOINT ["/actor"]`,
			"HEALTHCHECK --interval=1h --timeout=60s --retries=1 CMD "+check)
		s.Ready = &pipeline.Readiness{Image: true, IntervalSeconds: 1}
		if err := r.StartService(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		dockertest.WaitUntil(ctx, t, "the image's check says "+health, func() bool {
			p, err := r.Probe(ctx, s)
			if err != nil || p.Ended {
				t.Fatalf("probed %+v, error %v", p, err)
			}
			return string(p.Health) == health && strings.Contains(p.Detail, "exiting with")
		})
	}
}

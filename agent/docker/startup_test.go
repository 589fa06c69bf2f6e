package docker_test

import (
	"testing"
	"time"
)

// A probe reports the engine's own start time of a service that
// runs: an agent that was restarted meanwhile does not know it otherwise.
func TestProbe_TellsWhenTheServiceStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.service(r.deployment(), "web")
	before := time.Now().Add(-time.Second)
	if err := r.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, err := r.Probe(t.Context(), s)
		if err != nil || p.StartedAt.Before(before) || p.StartedAt.After(time.Now()) {
			t.Fatalf("probed %+v, error %v", p, err)
		}
	}
}

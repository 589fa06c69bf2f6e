package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// Why a service's port refuses connections is said where it is known: it listens on
// a loopback address only. One that nobody listens on is not accused of that.
func TestProbe_ListensOnLoopback(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	id := r.deployment()
	s := r.service(id, "web")
	s.Command = []string{"echo", "127.0.0.1:80"}
	if err := r.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const want = "web:80 refuses connections: it listens on 127.0.0.1:80 only; " +
		"make it listen on 0.0.0.0"
	for _, ready := range []*pipeline.Readiness{
		{TCP: &pipeline.TCPProbe{Port: 80}}, httpProbe("/", 0)} {
		s.Ready = ready
		dockertest.WaitUntil(ctx, t, "a probe says "+want, func() bool {
			p, err := r.Probe(ctx, s)
			return err == nil && string(p.Health) == "unhealthy" && p.Detail == want
		})
	}
	s.Ready = &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 81}}
	if p, err := r.Probe(ctx, s); err != nil || p.Detail != "nothing listens on web:81" {
		t.Errorf("another port: %+v, error %v", p, err)
	}
	var refused *agent.LoopbackError
	_, err := r.Dial(ctx, id, "web", 80)
	if !errors.As(err, &refused) || refused.Addresses.String() != "127.0.0.1:80" {
		t.Errorf("dialled, it says %v", err)
	}
	// An agent in a container asks the helper in the service instead.
	c, err := r.ExecInService(ctx, id, "web")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	command := []string{"/.nullops/init", "loopback", "80"}
	out, end := runInService(t, c, sidecar.Start{Command: command}, "")
	if strings.TrimSpace(out) != "127.0.0.1:80" || end.Code != 0 {
		t.Errorf("the helper says %q, %+v", out, end)
	}
}

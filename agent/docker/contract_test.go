package docker_test

import (
	"fmt"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/runtimetest"
	"github.com/nullops/nullops/pipeline"
)

// A real engine passes the suite that the dummy passes.
func TestDocker_KeepsTheContract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	images := map[runtimetest.Behaviour]pipeline.Image{}
	for _, b := range []runtimetest.Behaviour{runtimetest.Echo, runtimetest.Fail,
		runtimetest.Hang, runtimetest.Flood} {
		images[b] = dockertest.PublishActorImage(t, r.host, "nullops-test/"+string(b),
			fmt.Sprintf(`ENTRYPOINT ["/actor", "behave", %q]`, b))
	}
	echo := dockertest.PublishActorImage(t, r.host, "nullops-test/actor", `ENTRYPOINT ["/actor"]`)
	// promise: K-02
	runtimetest.Run(t, func(*testing.T) runtimetest.Subject {
		return runtimetest.Subject{Runtime: r, Port: 7,
			Service: func(s *agent.ServiceSpec) {
				s.Image, s.Command = echo, []string{"echo", "7"}
			},
			Actor: func(s *agent.ServiceSpec, args ...string) {
				s.Image, s.Command = echo, args
			},
			Plugin: func(p *agent.PluginSpec, b runtimetest.Behaviour) { p.Image = images[b] }}
	})
}

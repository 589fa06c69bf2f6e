package docker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// GPUs are asked of the engine as devices. A node without any refuses to start
// the container, in words that say so, and the request can be read on it.
func TestService_GPUsAreDeviceRequests(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	for want, gpus := range map[string]pipeline.GPUs{
		"[{ 2 [] [[gpu]] map[]}]":           {Count: 2},
		"[{ 0 [0 GPU-8f1e] [[gpu]] map[]}]": {DeviceIDs: []string{"0", "GPU-8f1e"}},
	} {
		s := r.service(id, "model")
		s.GPUs = &gpus
		err := r.StartService(t.Context(), s)
		if err != nil && !strings.Contains(err.Error(), "has no GPUs to hand out") {
			t.Errorf("without a GPU: %v", err)
		}
		c, err := r.api.ContainerInspect(t.Context(), r.find(agent.KindService).ID,
			client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(c.Container.HostConfig.DeviceRequests)
		if got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
	}
}

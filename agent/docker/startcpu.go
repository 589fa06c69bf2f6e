package docker

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

const (
	// raiseAfter spares services that start at once the two calls to the engine.
	raiseAfter = 200 * time.Millisecond
	// raiseFor bounds for how long a service that does not become ready has more than its limit.
	raiseFor = time.Minute
)

// adjustCPU lets a service that is slow to start use more processors than its limit, such as a
// database that makes its files: people wait for it, and processors that nobody else uses would
// idle. Under load each container gets its share as always. A service that is ready has its
// limit again before anyone is told so; if that fails, it is not ready.
func (pr *probes) adjustCPU(ctx context.Context, s agent.ServiceSpec,
	c container.InspectResponse, p agent.ProbeResult) error {
	if !s.Starting || c.HostConfig == nil || c.HostConfig.NanoCPUs == 0 {
		return nil // An engine that cannot limit processors says zero.
	}
	limit := resourceLimits(s.Resources, nil).NanoCPUs
	raised := min(int64(pr.config.StartCPU*1e9), int64(runtime.NumCPU())*1e9)
	age := time.Since(p.StartedAt)
	slow := p.Health != wire.HealthHealthy && age < raiseFor
	switch has := c.HostConfig.NanoCPUs; {
	case slow && has < raised && age >= raiseAfter:
		if err := pr.setCPU(ctx, c.ID, raised); err != nil {
			pr.log.DebugContext(ctx, "a service starts within its limit of processors",
				"deployment_id", s.Deployment, "step", string(s.Step), "error", err)
		}
	case !slow && has > limit:
		if err := pr.setCPU(ctx, c.ID, limit); err != nil {
			return fmt.Errorf("hold it to its limit of processors: %w", err)
		}
	}
	return nil
}

func (pr *probes) setCPU(ctx context.Context, id string, nano int64) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err := pr.api.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{
		Resources: &container.Resources{NanoCPUs: nano}})
	return wrapMutationErr(err)
}

package jobs

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// attachEvery is how long a verdict waits at most until it is attached to its images.
const attachEvery = 5 * time.Second

// AttachVerdicts attaches QA's verdicts to the images that they are about, in their registries.
func AttachVerdicts(deployments *lifecycle.Lifecycle) Job {
	system := access.System("attach-verdicts")
	return Job{Name: "attach_verdicts", Every: attachEvery, Do: func(ctx context.Context) error {
		return deployments.AttachVerdicts(ctx, system)
	}}
}

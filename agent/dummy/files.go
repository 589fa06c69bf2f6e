package dummy

import (
	"context"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

var _ agent.FileReader = (*Runtime)(nil)

// ReadFiles implements agent.FileReader.
func (r *Runtime) ReadFiles(ctx context.Context, deployment string, step pipeline.StepKey,
	pattern string, _ agent.FileLimits) (found []agent.ContainerFile, err error) {
	err = r.callWithKnobs(ctx, "files", string(step), func() error {
		if k := r.currentKnobs(); k.Files != nil {
			found = k.Files(deployment, step, pattern)
		}
		return nil
	})
	return found, err
}

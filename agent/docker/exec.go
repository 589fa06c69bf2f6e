package docker

import (
	"context"
	"errors"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/internal/wait"
)

// runInService runs a command in the container. The engine cannot end a command that hangs, so the
// command is abandoned when the context ends; the pids limit bounds how many there can be.
func (cs *containers) runInService(
	ctx context.Context, id string, command []string,
) (output string, code int, err error) {
	e, err := cs.api.ExecCreate(ctx, id, client.ExecCreateOptions{
		Cmd: command, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return "", 0, execError(err)
	}
	a, err := cs.api.ExecAttach(ctx, e.ID, client.ExecAttachOptions{})
	if err != nil {
		return "", 0, execError(err)
	}
	defer a.Close()
	stop := context.AfterFunc(ctx, a.Close)
	defer stop()
	output = readOutput(a.Reader)
	for {
		r, err := cs.api.ExecInspect(ctx, e.ID, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return "", 0, execError(err)
		case !r.Running:
			return output, r.ExitCode, nil
		}
		if err := wait.Sleep(ctx, execPoll); err != nil {
			return "", 0, err
		}
	}
}

// execError leaves a probe that ran out of time, and a container that has just
// ended, to the verdict.
func execError(err error) error {
	if errdefs.IsConflict(err) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return wrapMutationErr(err)
}

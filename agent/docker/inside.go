package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/pipeline"
)

// helloWithin is how long the engine may take to start a process in a container.
const helloWithin = 15 * time.Second

// ExecInService starts the sidecar's inside role in a service's container, as the container's
// user. The request is sent in frames and not as arguments, so that the engine does not
// show it.
func (sv *services) ExecInService(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (io.ReadWriteCloser, error) {
	if err := checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	c, err := sv.findService(ctx, deployment, service)
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("service %s has no container: %w", service, agent.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", service, err)
	}
	if c.State == nil || !c.State.Running || sv.files.isUnbegun(deployment, service) {
		return nil, fmt.Errorf("service %s is not running", service)
	}
	started, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	secrets := sidecar.NoSecrets
	if readsSecrets(c.Config) {
		secrets = secretsPath
	}
	e, err := sv.api.ExecCreate(started, c.ID, client.ExecCreateOptions{
		Cmd:         []string{initTarget, "inside", secrets},
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", service, execError(err))
	}
	a, err := sv.api.ExecAttach(started, e.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", service, execError(err))
	}
	return newInside(started, a.HijackedResponse)
}

// insideConn is a connection to the inside role. Closing it, as the kernel does
// for a killed agent, ends whatever was started.
type insideConn struct {
	attached client.HijackedResponse
	frames   *io.PipeReader
}

func newInside(ctx context.Context, a client.HijackedResponse) (io.ReadWriteCloser, error) {
	r, w := io.Pipe()
	c := &insideConn{attached: a, frames: r}
	var said bytes.Buffer
	go func() {
		_, err := stdcopy.StdCopy(w, &limitedWriter{to: &said, left: probeOutput}, a.Reader)
		_ = w.CloseWithError(errors.Join(io.EOF, err))
	}()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	f, err := sidecar.ReadFrame(r)
	if err != nil || f.Kind != sidecar.FrameHello {
		_ = c.Close()
		return nil, fmt.Errorf("nothing can be started in the service's container: a service that "+
			"an older agent started has to be made anew (retry the deployment): %s",
			clipOutput(said.String()))
	}
	return c, nil
}

func (c *insideConn) Read(p []byte) (int, error)  { return c.frames.Read(p) }
func (c *insideConn) Write(p []byte) (int, error) { return c.attached.Conn.Write(p) }

func (c *insideConn) Close() error {
	c.attached.Close()
	return c.frames.Close()
}

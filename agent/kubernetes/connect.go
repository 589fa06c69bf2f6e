package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/pipeline"
)

// Dial connects to a port of the service's pod. The pod's address is asked for each time: after
// its end, another one's may have it.
func (sv *services) Dial(
	ctx context.Context, deployment string, service pipeline.StepKey, port int,
) (net.Conn, error) {
	pod, err := sv.runningPod(ctx, deployment, service)
	if err != nil {
		return nil, err
	}
	conn, err := dialPod(ctx, pod.Status.PodIP, port)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", service, err)
	}
	return conn, nil
}

func dialPod(ctx context.Context, address string, port int) (net.Conn, error) {
	if address == "" {
		return nil, errors.New("its pod has no address yet")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
}

// runningPod fails unless the service has a pod whose container runs.
func (sv *services) runningPod(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (*corev1.Pod, error) {
	if err := sv.names.checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	pod, err := sv.currentPod(ctx, deployment, service)
	switch {
	case err != nil:
		return nil, fmt.Errorf("service %s: %w", service, err)
	case pod == nil:
		return nil, fmt.Errorf("service %s: %w: %w", service, errNoPod, agent.ErrNotFound)
	case !isRunning(pod):
		return nil, fmt.Errorf("service %s is not running: %s", service, describePod(pod))
	}
	return pod, nil
}

// Logs streams a service's lines, oldest first. The cluster keeps those of the pod that there is.
func (sv *services) Logs(
	ctx context.Context, deployment string, service pipeline.StepKey, o agent.LogOptions,
) (io.ReadCloser, error) {
	if err := sv.names.checkNames(deployment, string(service)); err != nil {
		return nil, err
	}
	pod, err := sv.currentPod(ctx, deployment, service)
	if err == nil && pod == nil {
		err = fmt.Errorf("%w: %w", errNoPod, agent.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("logs of service %s: %w", service, err)
	}
	options := &corev1.PodLogOptions{Container: mainContainer, Follow: o.Follow, Timestamps: true}
	if o.Tail > 0 {
		options.TailLines = new(int64(o.Tail))
	}
	if !o.Since.IsZero() {
		options.SinceTime = new(metav1.NewTime(o.Since))
	}
	lines, err := sv.core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		SubResource("log").VersionedParams(options, sv.parameters).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("logs of service %s: %w", service, wrapQueryErr(err))
	}
	return lines, nil
}

// ExecInService starts the helper's inside role in a service's container. The request is sent in
// frames and not as arguments, so that the cluster's audit log does not show it.
func (sv *services) ExecInService(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (io.ReadWriteCloser, error) {
	pod, err := sv.runningPod(ctx, deployment, service)
	if err != nil {
		return nil, err
	}
	secrets := sidecar.NoSecrets
	if readsSecrets(pod) {
		secrets = secretsPath
	}
	c, err := sv.openInside(ctx, pod, secrets)
	if err != nil {
		return nil, fmt.Errorf("service %s: nothing can be started in its container: %w",
			service, err)
	}
	return c, nil
}

// insideConn is a connection to the inside role. Closing it ends whatever was started, since the
// helper's stdin ends.
type insideConn struct {
	in     *io.PipeWriter
	frames *io.PipeReader
	stop   context.CancelFunc
}

func (sv *services) openInside(
	ctx context.Context, pod *corev1.Pod, secrets string,
) (io.ReadWriteCloser, error) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &insideConn{in: inWrite, frames: outRead, stop: stop}
	var said limitedBuffer
	go func() {
		_, err := sv.execInPod(running, pod.Namespace, pod.Name, mainContainer,
			[]string{helperTarget, "inside", secrets},
			streams{in: inRead, out: outWrite, err: &said})
		_ = outWrite.CloseWithError(errors.Join(io.EOF, err))
		_ = inRead.CloseWithError(errors.Join(io.ErrClosedPipe, err))
	}()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	f, err := sidecar.ReadFrame(outRead)
	if err != nil || f.Kind != sidecar.FrameHello {
		_ = c.Close()
		return nil, errors.Join(err, errors.New(said.String()))
	}
	return c, nil
}

func (c *insideConn) Read(p []byte) (int, error)  { return c.frames.Read(p) }
func (c *insideConn) Write(p []byte) (int, error) { return c.in.Write(p) }

func (c *insideConn) Close() error {
	err := errors.Join(c.in.Close(), c.frames.Close())
	c.stop()
	return err
}

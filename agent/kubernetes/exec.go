package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/nullops/nullops/agent"
)

// streams are those of a command in a container; nil ones are not opened.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execInPod runs a command in a container, and returns its exit code. Ending the context ends the
// connection, and not the command.
func (c *cluster) execInPod(
	ctx context.Context, namespace, pod, container string, command []string, s streams,
) (code int, err error) {
	request := c.core.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command,
			Stdin: s.in != nil, Stdout: s.out != nil, Stderr: s.err != nil}, c.parameters)
	// A WebSocket passes proxies that do not know SPDY, and old API servers know SPDY only.
	socket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return 0, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return 0, err
	}
	either, err := remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return 0, err
	}
	err = either.StreamWithContext(ctx,
		remotecommand.StreamOptions{Stdin: s.in, Stdout: s.out, Stderr: s.err})
	var ended exec.ExitError
	if errors.As(err, &ended) && ended.Exited() {
		return ended.ExitStatus(), nil
	}
	return 0, err
}

// runInPod runs a short command and returns the beginning of what it prints.
func (c *cluster) runInPod(
	ctx context.Context, namespace, pod, container string, command []string, in io.Reader,
) (output string, code int, err error) {
	var said limitedBuffer
	code, err = c.execInPod(ctx, namespace, pod, container, command,
		streams{in: in, out: &said, err: &said})
	if err != nil {
		err = fmt.Errorf("run a command in pod %s: %w", pod, wrapMutationErr(err))
	}
	return said.String(), code, err
}

// limitedBuffer keeps the first bytes and swallows the rest. It is written by one goroutine per
// stream, and read when both have ended.
type limitedBuffer struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept.Write(p[:min(len(p), agent.ProbeOutput-b.kept.Len())])
	return len(p), nil
}

func (b *limitedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(b.kept.String(), "\uFFFD"))
}

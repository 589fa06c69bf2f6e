package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

const (
	// pluginTimeout applies if the specification has none.
	pluginTimeout = 5 * time.Minute
	// stopGrace is how long a plugin may take to end after SIGTERM.
	stopGrace = 10 * time.Second
	// cancelGrace is shorter: a person waits.
	cancelGrace = 3 * time.Second
	// killTime is how long the kernel and the engine may take for SIGKILL.
	killTime = 20 * time.Second
	// defaultStdout applies if the specification has no limit.
	defaultStdout = 1 << 20
	// exitKilled is 128 + SIGKILL.
	exitKilled = 137
)

// Why we ended a plugin ourselves.
var (
	errTimedOut = errors.New("timed out")
	errOverflow = errors.New("too much on stdout")
)

// RunPlugin runs a plugin's container to its end. The container is removed
// after the result is out; List, CreatePlugin and Close wait for that.
func (pl *plugins) RunPlugin(
	ctx context.Context, p agent.PluginSpec, stdin []byte, line func(text string),
) (agent.PluginResult, error) {
	// The receiver of the pieces is not part of the container's specification.
	pieces := p.Pieces
	p.Pieces = nil
	id, conn, err := pl.openPlugin(ctx, p)
	if err != nil {
		return agent.PluginResult{}, pluginError(p, err)
	}
	r := &pluginRun{
		containers: pl.containers, id: id, spec: p, conn: conn, out: newCollector(p.StdoutLimit, line),
		streams: make(chan struct{}),
	}
	if pieces != nil {
		r.out.piece = pieces.TakePiece
	}
	result, err := r.run(ctx, stdin)
	if err != nil {
		return result, pluginError(p, err)
	}
	pl.removeInBackground(pl.names.pluginName(p), id)
	return result, nil
}

// pluginRun is one plugin between attach and exit.
type pluginRun struct {
	containers *containers
	id         string
	spec       agent.PluginSpec
	conn       client.HijackedResponse
	out        *collector
	// streams closes when nothing more is read.
	streams chan struct{}
}

func (r *pluginRun) run(ctx context.Context, stdin []byte) (agent.PluginResult, error) {
	// The watch outlives a cancelled caller: the container must be ended first.
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	fed := make(chan struct{})
	defer func() { r.hangUp(); <-fed }()
	go func() {
		defer close(r.streams)
		// The wait for the exit reports why it ended.
		_, _ = stdcopy.StdCopy(r.out.stdoutWriter(), r.out.stderrWriter(), r.conn.Reader)
	}()
	exit := r.requestExitWait(ctx, watch, stop)
	err := watch.Err()
	if err != nil {
		err = fmt.Errorf("wait for its end: %w", wrapUnavailable(err))
	} else {
		err = r.containers.startContainer(ctx, r.id)
	}
	if err != nil {
		close(fed)
		return agent.PluginResult{}, errors.Join(err, r.abandonStart(ctx, exit))
	}
	go func() {
		defer close(fed)
		// A plugin that does not read its input ends without it.
		_, _ = r.conn.Conn.Write(stdin)
		_ = r.conn.CloseWrite()
	}()
	return r.awaitEnd(ctx, exit)
}

// requestExitWait subscribes to the plugin's end before it starts. The engine normally
// answers at once; if it is frozen, neither the agent nor a cancelled caller may block on
// it.
func (r *pluginRun) requestExitWait(
	ctx, watch context.Context, stop context.CancelFunc,
) client.ContainerWaitResult {
	late := time.AfterFunc(queryTimeout, stop)
	defer late.Stop()
	defer context.AfterFunc(ctx, stop)()
	return r.containers.api.ContainerWait(watch, r.id, client.ContainerWaitOptions{
		Condition: container.WaitConditionNextExit,
	})
}

// hangUp closes the streams. Done twice is done once.
func (r *pluginRun) hangUp() { _ = r.conn.Conn.Close() }

// abandonStart removes a container that may have started although the engine returned an
// error, or none.
func (r *pluginRun) abandonStart(ctx context.Context, exit client.ContainerWaitResult) error {
	r.hangUp()
	<-r.streams
	go func() {
		// The client's goroutine blocks until its result is read. It ends with the wait's context
		// at the latest.
		select {
		case <-exit.Result:
		case err := <-exit.Error:
			r.containers.log.Debug("wait for abandoned plugin", "container", r.id, "error", err)
		}
	}()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	if err := r.containers.removeContainer(clean, r.id); err != nil {
		return fmt.Errorf("it may still run: %w", err)
	}
	return nil
}

// awaitEnd watches the plugin until it ended, by itself or by us.
func (r *pluginRun) awaitEnd(
	ctx context.Context, exit client.ContainerWaitResult,
) (agent.PluginResult, error) {
	timeout := r.spec.Timeout
	if timeout <= 0 {
		timeout = pluginTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var code int64
	reason := error(nil)
	select {
	case w := <-exit.Result:
		code = w.StatusCode
	case err := <-exit.Error:
		return agent.PluginResult{}, r.giveUp(err)
	case err := <-r.out.overflow:
		reason = err
	case <-timer.C:
		reason = errTimedOut
	case <-ctx.Done():
		reason = context.Canceled
	}
	if reason != nil {
		var err error
		if code, err = r.stopPlugin(ctx, reason, exit); err != nil {
			return agent.PluginResult{}, r.giveUp(err)
		}
	}
	r.drainStreams()
	if reason == nil {
		reason = r.overflowErr()
	}
	return r.buildResult(ctx, int(code), reason), nil
}

// overflowErr returns errOverflow for a plugin that exited by itself right after it
// exceeded the limit: the output that was kept is truncated and must not be used as a
// response.
func (r *pluginRun) overflowErr() error {
	select {
	case err := <-r.out.overflow:
		return err
	default:
		return nil
	}
}

// stopPlugin sends SIGTERM, unless the plugin floods its output, and SIGKILL after the
// grace period.
func (r *pluginRun) stopPlugin(
	ctx context.Context, reason error, exit client.ContainerWaitResult,
) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace+killTime)
	defer cancel()
	grace := stopGrace
	switch {
	case errors.Is(reason, errOverflow):
		grace = 0
		// The engine does not report the end while it has output that is not being read.
		r.hangUp()
	case errors.Is(reason, context.Canceled):
		grace = cancelGrace
	}
	if grace > 0 {
		r.sendSignal(ctx, "SIGTERM")
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case w := <-exit.Result:
			return w.StatusCode, nil
		case err := <-exit.Error:
			return 0, err
		case <-timer.C:
		}
	}
	r.sendSignal(ctx, "SIGKILL")
	select {
	case w := <-exit.Result:
		return w.StatusCode, nil
	case err := <-exit.Error:
		return 0, err
	case <-ctx.Done():
		return 0, errors.New("the plugin was killed, but the engine does not say that it ended")
	}
}

// sendSignal may come too late, after the plugin has exited; the wait reports that.
func (r *pluginRun) sendSignal(ctx context.Context, name string) {
	_, err := r.containers.api.ContainerKill(ctx, r.id, client.ContainerKillOptions{Signal: name})
	if err != nil && !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) {
		r.containers.log.Warn("signal plugin", "container", r.id, "signal", name, "error", err)
	}
}

// giveUp ends the observation of a plugin whose state is unknown. It may still run: the
// caller removes its container.
func (r *pluginRun) giveUp(err error) error {
	r.hangUp()
	<-r.streams
	return fmt.Errorf("lost sight of it: %w", wrapUnavailable(err))
}

// drainStreams reads what is left on the streams. The engine closes the connection
// when the container has ended; the deadline guards against one that does not.
func (r *pluginRun) drainStreams() {
	_ = r.conn.Conn.SetReadDeadline(time.Now().Add(killTime))
	<-r.streams
	r.out.flush()
}

func (r *pluginRun) buildResult(ctx context.Context, code int, reason error) agent.PluginResult {
	result := r.out.pluginResult()
	result.ExitCode = code
	switch {
	case errors.Is(reason, errOverflow):
		result.Overflow = true
	case errors.Is(reason, errTimedOut):
		result.TimedOut = true
	case reason != nil:
		result.Canceled = true
	case code != 0:
		result.OOM = r.containers.outOfMemory(ctx, r.id, code)
	}
	return result
}

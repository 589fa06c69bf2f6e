package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
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
	// exitKilled is 128 + SIGKILL.
	exitKilled = 137
)

// Why we ended a plugin ourselves.
var (
	errTimedOut = errors.New("timed out")
	errOverflow = agent.ErrStdoutLimit
)

// RunPlugin gives a plugin's sandbox the go signal and follows it to its end. The container is
// removed after the result is out; List, CreatePlugin and Close wait for that.
func (pl *plugins) RunPlugin(
	ctx context.Context, p agent.PluginSpec, stdin []byte, line func(text string),
) (agent.PluginResult, error) {
	// The receiver of the pieces is not part of the container's specification.
	pieces := p.Pieces
	p.Pieces = nil
	for {
		s, prepared, err := pl.takeSandbox(ctx, p)
		if err != nil {
			return agent.PluginResult{}, pluginError(p, err)
		}
		r := newPluginRun(s, line, pieces)
		pl.config.Failpoint.Pass("sandbox.go")
		result, err := r.run(ctx, stdin)
		if prepared && errors.Is(err, errNeverBegan) && ctx.Err() == nil {
			// Its name makes the next one replace it. That one was not prepared.
			continue
		}
		if err != nil {
			return result, pluginError(p, err)
		}
		pl.removeInBackground(pl.names.pluginName(p), s.id)
		return result, nil
	}
}

// pluginRun is one plugin between the go signal and its end.
type pluginRun struct {
	*sandbox
	out   *agent.PluginOutput
	marks *marks
	// streams closes when nothing more is read.
	streams chan struct{}
}

func newPluginRun(s *sandbox, line func(string), pieces agent.PieceTaker) *pluginRun {
	limits := agent.PluginSpec{StdoutLimit: s.spec.StdoutLimit, Pieces: pieces}
	return &pluginRun{sandbox: s, out: agent.NewPluginOutput(limits, line),
		marks: newMarks(newNonce()), streams: make(chan struct{})}
}

func (r *pluginRun) run(ctx context.Context, stdin []byte) (agent.PluginResult, error) {
	fed := make(chan struct{})
	defer func() { r.hangUp(); <-fed }()
	go r.readStreams()
	go func() {
		defer close(fed)
		// A plugin that does not read its input ends without it. One write: on a busy machine, the
		// helper should not have to wait for the rest.
		_, _ = r.conn.Conn.Write(slices.Concat(r.marks.nonce, stdin))
		_ = r.conn.CloseWrite()
	}()
	return r.awaitEnd(ctx)
}

func (r *pluginRun) readStreams() {
	defer close(r.streams)
	stdout := r.marks.splitMarks(r.out.Stdout())
	stderr := r.marks.splitMarks(r.out.Stderr())
	// The wait for the exit reports why it ended.
	_, err := stdcopy.StdCopy(stdout, stderr, r.conn.Reader)
	if !errors.Is(err, errOverflow) {
		stdout.flush()
		stderr.flush()
	}
}

// awaitEnd watches the plugin until it ended, by itself or by us. The helper says so before the
// engine does, unless it was killed.
func (r *pluginRun) awaitEnd(ctx context.Context) (agent.PluginResult, error) {
	timeout := r.spec.Timeout
	if timeout <= 0 {
		timeout = pluginTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var code int64
	reason := error(nil)
	select {
	case <-r.marks.ended:
	case w := <-r.exit.Result:
		r.ended, code = true, w.StatusCode
	case err := <-r.exit.Error:
		r.ended = true
		return agent.PluginResult{}, r.giveUp(err)
	case <-r.out.Full():
		reason = errOverflow
	case <-timer.C:
		reason = errTimedOut
	case <-ctx.Done():
		reason = context.Canceled
	}
	if reason != nil {
		var err error
		if code, err = r.stopPlugin(ctx, reason); err != nil {
			return agent.PluginResult{}, r.giveUp(err)
		}
	}
	r.drainStreams()
	if reason == nil {
		reason = r.overflowErr()
	}
	if _, told := r.marks.endMark(); reason == nil && !told && !r.marks.hasBegun() {
		return agent.PluginResult{}, errNeverBegan
	}
	return r.buildResult(ctx, int(code), reason), nil
}

// overflowErr returns errOverflow for a plugin that exited by itself right after it
// exceeded the limit: the output that was kept is truncated and must not be used as a
// response.
func (r *pluginRun) overflowErr() error {
	select {
	case <-r.out.Full():
		return errOverflow
	default:
		return nil
	}
}

// stopPlugin sends SIGTERM, unless the plugin floods its output, and SIGKILL after the
// grace period.
func (r *pluginRun) stopPlugin(ctx context.Context, reason error) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace+killTime)
	defer cancel()
	grace := stopGrace
	switch {
	case errors.Is(reason, errOverflow):
		grace = 0
		// The engine does not report the end while it has output that is not being read.
		_ = r.conn.Conn.Close()
	case errors.Is(reason, context.Canceled):
		grace = cancelGrace
	}
	if grace > 0 {
		r.sendSignal(ctx, "SIGTERM")
		within, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if code, err := r.awaitExit(within); within.Err() == nil {
			return code, err
		}
	}
	r.sendSignal(ctx, "SIGKILL")
	code, err := r.awaitExit(ctx)
	if ctx.Err() != nil {
		return 0, errors.New("the plugin was killed, but the engine does not say that it ended")
	}
	return code, err
}

// awaitExit waits for the end of a plugin that was sent a signal.
func (r *pluginRun) awaitExit(ctx context.Context) (int64, error) {
	select {
	case <-r.marks.ended:
		return 0, nil
	case w := <-r.exit.Result:
		r.ended = true
		return w.StatusCode, nil
	case err := <-r.exit.Error:
		r.ended = true
		return 0, err
	case <-ctx.Done():
		return 0, ctx.Err()
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

// drainStreams reads what is left on the streams. After the end marks that is nothing. Without
// them, the engine closes the connection when the container has ended; the deadline guards against
// one that does not.
func (r *pluginRun) drainStreams() {
	deadline := time.Now().Add(killTime)
	if _, ended := r.marks.endMark(); ended {
		deadline = time.Now()
	}
	_ = r.conn.Conn.SetReadDeadline(deadline)
	<-r.streams
	r.out.Flush()
}

func (r *pluginRun) buildResult(ctx context.Context, code int, reason error) agent.PluginResult {
	result := r.out.Result()
	end, told := r.marks.endMark()
	if told {
		code = end.code
	}
	result.ExitCode = code
	switch {
	case errors.Is(reason, errOverflow):
		result.Overflow = true
	case errors.Is(reason, errTimedOut):
		result.TimedOut = true
	case reason != nil:
		result.Canceled = true
	case told && !end.mayBeOOM:
	case code != 0:
		r.awaitEngine(ctx)
		result.OOM = r.containers.outOfMemory(ctx, r.id, code)
	}
	return result
}

// awaitEngine waits until the engine has noticed the end too: only then it says why.
func (r *pluginRun) awaitEngine(ctx context.Context) {
	if r.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	select {
	case <-r.exit.Result:
		r.ended = true
	case <-r.exit.Error:
		r.ended = true
	case <-ctx.Done():
	}
}

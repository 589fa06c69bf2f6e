package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
)

const (
	// pluginTimeout applies if the specification has none.
	pluginTimeout = 5 * time.Minute
	// pluginGrace is how long a plugin may take to end after SIGTERM.
	pluginGrace = 10 * time.Second
	// cancelGrace is shorter: a person waits.
	cancelGrace = 3 * time.Second
	// killTime is how long the machine may take for SIGKILL.
	killTime = 20 * time.Second
	// pluginSilence is how long nothing may be heard from a plugin's helper. By then its lease is
	// over, and the plugin has ended.
	pluginSilence = sidecar.PluginLease + leaseMargin
	silenceLook   = time.Second
)

// Why we ended a plugin ourselves.
var (
	errTimedOut = errors.New("timed out")
	errOverflow = agent.ErrStdoutLimit
	errSilent   = fmt.Errorf("its machine has not been heard from for %s, and it has ended itself "+
		"by now", pluginSilence)
)

// RunPlugin starts a plugin in its pod and follows it to its end. The pod is removed after the
// result is out; List, CreatePlugin and Close wait for that.
func (pl *plugins) RunPlugin(
	ctx context.Context, p agent.PluginSpec, stdin []byte, line func(text string),
) (agent.PluginResult, error) {
	pod, err := pl.takePod(ctx, p)
	if err != nil {
		return agent.PluginResult{}, pluginError(p, err)
	}
	command, err := pl.commandOf(ctx, p)
	if err != nil {
		return agent.PluginResult{}, pluginError(p, err)
	}
	r := &pluginRun{plugins: pl, pod: pod, spec: p, out: agent.NewPluginOutput(p, line),
		ended: make(chan struct{})}
	pl.config.Failpoint.Pass("sandbox.go")
	result, err := r.run(ctx, command, stdin)
	if err != nil {
		return result, pluginError(p, err)
	}
	pl.removeAfterwards(pod)
	return result, nil
}

// takePod returns a pod that waits, or makes one.
func (pl *plugins) takePod(ctx context.Context, p agent.PluginSpec) (*corev1.Pod, error) {
	pod, err := pl.findWaiting(ctx, p)
	if pod != nil || err != nil {
		return pod, err
	}
	return pl.openPod(ctx, p)
}

// pluginRun is one plugin between its start and its end.
type pluginRun struct {
	*plugins
	pod  *corev1.Pod
	spec agent.PluginSpec
	out  *agent.PluginOutput
	// ended is closed when the exec stream has ended; code and err are set then.
	ended chan struct{}
	code  int
	err   error
	// heard is when the helper was last heard from.
	heard atomic.Pointer[time.Time]
}

func (r *pluginRun) run(
	ctx context.Context, command []string, stdin []byte,
) (agent.PluginResult, error) {
	// The stream outlives a cancelled caller: the plugin must be ended first.
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r.noteHeard(time.Now())
	go func() {
		defer close(r.ended)
		r.code, r.err = r.runBelowHelper(watch, command, stdin)
	}()
	reason := r.awaitEnd(ctx)
	switch {
	case errors.Is(reason, errSilent):
		return agent.PluginResult{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, reason)
	case reason != nil:
		if err := r.stopPlugin(ctx, reason, stop); err != nil {
			return agent.PluginResult{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
	case r.err != nil:
		return r.resultWithoutCode(ctx)
	}
	return r.buildResult(ctx, reason), nil
}

// takeStdout swallows what is beyond the limit, until the plugin has been killed for it: the
// stream must not end before.
func (r *pluginRun) takeStdout(p []byte) { _, _ = r.out.Stdout().Write(p) }

// awaitEnd returns why the plugin has to be ended, or nil when it has ended by itself.
func (r *pluginRun) awaitEnd(ctx context.Context) error {
	timeout := r.spec.Timeout
	if timeout <= 0 {
		timeout = pluginTimeout
	}
	timer, tick := time.NewTimer(timeout), time.NewTicker(silenceLook)
	defer timer.Stop()
	defer tick.Stop()
	for {
		select {
		case <-r.ended:
			select {
			case <-r.out.Full():
				return errOverflow
			default:
				return nil
			}
		case <-r.out.Full():
			return errOverflow
		case <-timer.C:
			return errTimedOut
		case <-ctx.Done():
			return context.Canceled
		case <-tick.C:
			if time.Since(*r.heard.Load()) > pluginSilence {
				return errSilent
			}
		}
	}
}

// stopPlugin ends the pod, whose first process passes SIGTERM on to the plugin. The machine kills
// what is left after the grace period. A pod of a lost machine is gone when its plugin cannot run
// any more, and then nothing ends its stream.
func (r *pluginRun) stopPlugin(ctx context.Context, reason error, endStream func()) error {
	grace := pluginGrace
	switch {
	case errors.Is(reason, errOverflow):
		grace = time.Second
	case errors.Is(reason, context.Canceled):
		grace = cancelGrace
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+killTime+stopMargin)
	defer cancel()
	if err := r.removePod(ctx, r.pod, grace); err != nil {
		return fmt.Errorf("lost sight of it: %w", err)
	}
	select {
	case <-r.ended:
	case <-time.After(killTime):
		endStream()
		<-r.ended
	}
	return nil
}

// resultWithoutCode is for a stream that ended without the exit code: the pod was killed as a
// whole, for lack of memory for example, or the connection was lost, and then nothing is known.
func (r *pluginRun) resultWithoutCode(ctx context.Context) (agent.PluginResult, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	pod, err := r.getPod(ctx, r.pod.Namespace, r.pod.Name)
	if err == nil && pod != nil && hasEnded(pod) {
		if p, ok := endedProbe(pod); ok && p.OOM {
			r.out.Flush()
			result := r.out.Result()
			result.ExitCode, result.OOM = exitKilled, true
			return result, nil
		}
	}
	why := wrapMutationErr(r.err)
	if pod != nil {
		if lost, _ := r.explainLost(ctx, pod); lost != "" {
			why = fmt.Errorf("%s: %w", lost, why)
		}
	}
	return agent.PluginResult{}, fmt.Errorf("lost sight of it: %w", why)
}

func (r *pluginRun) buildResult(ctx context.Context, reason error) agent.PluginResult {
	r.out.Flush()
	result := r.out.Result()
	result.ExitCode = r.code
	switch {
	case errors.Is(reason, errOverflow):
		result.Overflow = true
	case errors.Is(reason, errTimedOut):
		result.TimedOut = true
	case reason != nil:
		result.Canceled = true
	case r.code != 0:
		result.OOM = r.outOfMemory(ctx)
	}
	if reason != nil && result.ExitCode == 0 {
		result.ExitCode = exitKilled
	}
	return result
}

// outOfMemory reports whether the kernel killed something in the plugin's container.
func (r *pluginRun) outOfMemory(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	output, code, err := r.runInPod(ctx, r.pod.Namespace, r.pod.Name, mainContainer,
		[]string{helperTarget, "oom-kills", "pod"}, nil)
	if err != nil || code != 0 {
		// Where the kernel kills the whole container, the helper was killed too.
		pod, err := r.getPod(ctx, r.pod.Namespace, r.pod.Name)
		if err != nil || pod == nil {
			return false
		}
		p, ended := endedProbe(pod)
		return ended && p.OOM
	}
	n, err := strconv.Atoi(output)
	return err == nil && n > 0
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/agent/wire"
)

const (
	// probeTimeout is Readiness's default for TimeoutSeconds.
	probeTimeout = 5 * time.Second
	// probeOutput is how much of a tool's output is shown.
	probeOutput = 512
	execPoll    = 20 * time.Millisecond
	// jobWatch is how long a probe waits for the end of a job that runs: then its end is known at
	// once. It bounds how much later a job that takes too long is stopped.
	jobWatch = time.Second
)

// probes asks services whether they are ready.
type probes struct {
	*containers
	relays *relays
	files  *serviceFiles
}

// Probe asks once whether a started service is ready. The agent itself speaks HTTP and TCP, over a
// socket from the relay. A container that is not there is agent.ErrNotFound.
func (pr *probes) Probe(ctx context.Context, s agent.ServiceSpec) (agent.ProbeResult, error) {
	c, err := pr.findService(ctx, s.Deployment, s.Step)
	if err != nil {
		return agent.ProbeResult{}, fmt.Errorf("probe service %s: %w", s.Step, err)
	}
	if s.Once && c.State != nil && c.State.Running && pr.awaitJob(ctx, c.ID) {
		if c, err = pr.findService(ctx, s.Deployment, s.Step); err != nil {
			return agent.ProbeResult{}, fmt.Errorf("probe service %s: %w", s.Step, err)
		}
	}
	state := c.State
	if s.Once && neverStarted(state) {
		return agent.ProbeResult{}, fmt.Errorf("probe job %s: its container was never started: %w",
			s.Step, agent.ErrNotFound)
	}
	if state == nil || !state.Running {
		if state != nil && state.ExitCode == exitKilled && !state.OOMKilled {
			state.OOMKilled = pr.outOfMemory(ctx, c.ID, exitKilled)
		}
		return stoppedProbe(state), nil
	}
	started := startedAt(state)
	if readsSecrets(c.Config) {
		// It may have waited for its turn.
		if begun := pr.files.begunAt(s.Deployment, s.Step); begun.After(started) {
			started = begun
		}
	}
	pr.relays.learnAddress(ctx, s)
	if s.Ready == nil {
		return agent.ProbeResult{Health: wire.HealthHealthy, StartedAt: started}, nil
	}
	timeout := time.Duration(s.Ready.TimeoutSeconds) * time.Second
	if timeout <= 0 {
		timeout = probeTimeout
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, err := pr.runProbe(within, s, c)
	p.StartedAt = started
	if err == nil {
		err = pr.adjustCPU(ctx, s, c, p)
	}
	if err != nil {
		return p, fmt.Errorf("probe service %s: %w", s.Step, err)
	}
	return p, nil
}

// awaitJob waits for the end of a job for a while, and reports whether it came.
func (pr *probes) awaitJob(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, jobWatch)
	defer cancel()
	w := pr.api.ContainerWait(ctx, id, client.ContainerWaitOptions{
		Condition: container.WaitConditionNotRunning})
	select {
	case <-w.Result:
		return true
	case <-w.Error:
		return false
	}
}

// startedAt is zero when the engine does not say.
func startedAt(s *container.State) time.Time {
	at, err := time.Parse(time.RFC3339Nano, s.StartedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}

func stoppedProbe(s *container.State) agent.ProbeResult {
	p := agent.ProbeResult{Health: wire.HealthStopped, Ended: true}
	if s == nil {
		return p
	}
	p.ExitCode, p.OOM = s.ExitCode, s.OOMKilled
	p.Detail = fmt.Sprintf("exited with code %d", s.ExitCode)
	switch {
	case s.Status == container.StateCreated:
		p.Detail = "was never started"
	case s.OOMKilled:
		p.Detail = "ran out of memory"
	}
	if s.Error != "" {
		p.Detail = s.Error
	}
	return p
}

func (pr *probes) runProbe(
	ctx context.Context, s agent.ServiceSpec, c container.InspectResponse,
) (agent.ProbeResult, error) {
	switch {
	case s.Ready.HTTP != nil:
		detail, err := agent.AskHTTP(ctx, s.Step, *s.Ready.HTTP,
			func(ctx context.Context) (net.Conn, error) {
				return pr.relays.dialRelay(ctx, s.Deployment, s.Step, s.Ready.HTTP.Port)
			})
		return probeResult(detail, err)
	case s.Ready.TCP != nil:
		conn, err := pr.relays.dialRelay(ctx, s.Deployment, s.Step, s.Ready.TCP.Port)
		if err == nil {
			err = conn.Close()
		}
		return probeResult(fmt.Sprintf("port %d takes connections", s.Ready.TCP.Port), err)
	case len(s.Ready.Command) > 0:
		detail, err := pr.probeCommand(ctx, c, s.Ready.Command)
		return probeResult(detail, err)
	case s.Ready.Image:
		p := imageHealth(c.State)
		if checksWithSecrets(c.Config) && p.Health != wire.HealthHealthy && c.State.Health != nil {
			p.Detail = pr.readCheckOutput(ctx, c)
		}
		return p, nil
	}
	return agent.ProbeResult{Health: wire.HealthHealthy}, nil
}

// probeResult distinguishes a service that is not ready from an engine that could not be
// asked. detail is the output of a successful check.
func probeResult(detail string, err error) (agent.ProbeResult, error) {
	if errors.Is(err, agent.ErrUnavailable) {
		return agent.ProbeResult{Health: wire.HealthUnknown}, err
	}
	if err == nil {
		return agent.ProbeResult{Health: wire.HealthHealthy, Detail: detail}, nil
	}
	detail = err.Error()
	var dial *sidecar.DialError
	var loopback *agent.LoopbackError
	switch {
	case errors.As(err, &dial):
		detail = dial.Error()
	case errors.As(err, &loopback):
		detail = loopback.Error()
	case errors.Is(err, context.DeadlineExceeded):
		detail = "no answer in time"
	}
	return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: detail}, nil
}

// probeCommand runs a command in the container. The engine cannot end one that hangs, so
// the probe fails and the process stays; the pids limit bounds how many can accumulate.
func (pr *probes) probeCommand(
	ctx context.Context, c container.InspectResponse, command []string,
) (output string, err error) {
	withSecrets := command
	if readsSecrets(c.Config) {
		withSecrets = append(initCommand(), command...)
	}
	output, code, err := pr.runInService(ctx, c.ID, withSecrets)
	if err == nil && code != 0 {
		return "", fmt.Errorf("%s exited with code %d: %s", command[0], code, output)
	}
	return output, err
}

func imageHealth(s *container.State) agent.ProbeResult {
	if s.Health == nil {
		return agent.ProbeResult{Health: wire.HealthUnhealthy,
			Detail: "the image declares no health check: choose another readiness check"}
	}
	p := agent.ProbeResult{}
	switch s.Health.Status {
	case container.Healthy:
		p.Health = wire.HealthHealthy
	case container.Unhealthy:
		p.Health = wire.HealthUnhealthy
	default:
		p.Health = wire.HealthStarting
	}
	if n := len(s.Health.Log); n > 0 {
		p.Detail = s.Health.Log[n-1].Output
	}
	return p
}

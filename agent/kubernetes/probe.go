package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

// probeTimeout is Readiness's default for TimeoutSeconds.
const probeTimeout = 5 * time.Second

// probes asks services whether they are ready. The agent asks, as on Docker, and not the machine:
// so both have the same patience and words.
type probes struct{ *services }

// Probe asks once whether a started service is ready. One that has neither pod nor Deployment is
// agent.ErrNotFound.
func (pr *probes) Probe(ctx context.Context, s agent.ServiceSpec) (agent.ProbeResult, error) {
	p, err := pr.probeService(ctx, s)
	if err != nil {
		return p, fmt.Errorf("probe service %s: %w", s.Step, err)
	}
	return p, nil
}

func (pr *probes) probeService(ctx context.Context, s agent.ServiceSpec) (agent.ProbeResult,
	error) {
	if err := pr.names.checkNames(s.Deployment, string(s.Step)); err != nil {
		return agent.ProbeResult{}, err
	}
	pod, err := pr.currentPod(ctx, s.Deployment, s.Step)
	if err != nil {
		return agent.ProbeResult{}, err
	}
	if pod == nil {
		return pr.probeWithoutPod(ctx, s)
	}
	if !isRunning(pod) {
		if p, ended := endedProbe(pod); ended {
			return p, nil
		}
		return pr.probeStarting(ctx, s, pod)
	}
	started := containerState(pod.Status.ContainerStatuses,
		mainContainer).State.Running.StartedAt.Time
	if s.Ready == nil {
		return agent.ProbeResult{Health: wire.HealthHealthy, StartedAt: started}, nil
	}
	timeout := time.Duration(s.Ready.TimeoutSeconds) * time.Second
	if timeout <= 0 {
		timeout = probeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, err := pr.runProbe(ctx, s, pod)
	p.StartedAt = started
	p.Detail += pr.describeMove(pod)
	return p, err
}

// probeStarting brings a pod that the cluster made in place of another what it waits for.
func (pr *probes) probeStarting(
	ctx context.Context, s agent.ServiceSpec, pod *corev1.Pod,
) (agent.ProbeResult, error) {
	pr.findMoves(ctx, pod)
	moved := pr.describeMove(pod)
	if waitsForDelivery(pod) && readsDelivery(pod) &&
		!pr.redeliverSecrets(ctx, s.Deployment, s.Step, pod) {
		return endedForGood("its pod was replaced, and waits for its secrets and files" +
			moved), nil
	}
	if !pr.pulls.lendAgain(ctx, pod, s.Image) {
		return endedForGood("its pod was replaced, and waits for the credentials of registry " +
			s.Image.Registry + moved), nil
	}
	return agent.ProbeResult{Health: wire.HealthStarting,
		Detail: pr.explainPod(ctx, pod) + moved}, nil
}

// endedForGood is for a pod that gets what it waits for only by a new start of its service.
func endedForGood(why string) agent.ProbeResult {
	return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: exitKilled,
		Detail: why, Cluster: why}
}

// readsDelivery reports whether the helper of a pod waits for a delivery at all.
func readsDelivery(p *corev1.Pod) bool {
	for _, c := range p.Spec.InitContainers {
		if c.Name == helperContainer {
			return len(c.Command) > 3
		}
	}
	return false
}

// probeWithoutPod distinguishes a service without replicas, and one whose pod is not made yet, from
// one that is not there.
func (pr *probes) probeWithoutPod(
	ctx context.Context, s agent.ServiceSpec,
) (p agent.ProbeResult, err error) {
	w, err := pr.workloadOf(ctx, pr.names.namespaceName(s.Deployment), s.Step)
	if err != nil {
		return p, err
	}
	lost, err := pr.findLost(ctx, s)
	switch {
	case err != nil:
		return p, err
	case (w == nil || w.Labels[labelInstall] != pr.names.install) && lost != "":
		return p, fmt.Errorf("%s: %w", lost, agent.ErrNotFound)
	case w == nil || w.Labels[labelInstall] != pr.names.install:
		return p, fmt.Errorf("%w: %w", errNoPod, agent.ErrNotFound)
	case w.replicas == 0:
		return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, Detail: "is stopped"}, nil
	}
	if lost != "" {
		return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: lost + waitsForLost}, nil
	}
	refusal := w.refusal
	if refusal == "" {
		refusal = pr.lastWarning(ctx, w.Namespace, w.UID, "FailedCreate")
	}
	if refusal != "" {
		return agent.ProbeResult{Health: wire.HealthUnhealthy,
			Detail: explainRefusal(refusal)}, nil
	}
	return agent.ProbeResult{Health: wire.HealthStarting, Detail: "its pod is not made yet"}, nil
}

// findLost says of a service or job whose only pod is on a machine that does not answer which one
// that is; it is empty for others.
func (pr *probes) findLost(ctx context.Context, s agent.ServiceSpec) (string, error) {
	all, err := pr.pods.list(ctx, pr.names.namespaceName(s.Deployment), pr.names.stepSelector(s.Step))
	if err != nil || len(all) == 0 {
		return "", wrapQueryErr(err)
	}
	return pr.explainLost(ctx, &all[0])
}

func (pr *probes) runProbe(
	ctx context.Context, s agent.ServiceSpec, pod *corev1.Pod,
) (agent.ProbeResult, error) {
	switch {
	case s.Ready.HTTP != nil:
		detail, err := agent.AskHTTP(ctx, s.Step, *s.Ready.HTTP,
			func(ctx context.Context) (net.Conn, error) {
				return dialPod(ctx, pod.Status.PodIP, s.Ready.HTTP.Port)
			})
		return probeResult(detail, err)
	case s.Ready.TCP != nil:
		conn, err := dialPod(ctx, pod.Status.PodIP, s.Ready.TCP.Port)
		if err == nil {
			err = conn.Close()
		}
		return probeResult(fmt.Sprintf("port %d takes connections", s.Ready.TCP.Port), err)
	case len(s.Ready.Command) > 0:
		detail, err := pr.probeCommand(ctx, pod, s.Ready.Command)
		return probeResult(detail, err)
	case s.Ready.Image:
		return pr.probeImage(ctx, s, pod)
	}
	return agent.ProbeResult{Health: wire.HealthHealthy}, nil
}

// probeImage runs the health check that the service's image brings.
func (pr *probes) probeImage(
	ctx context.Context, s agent.ServiceSpec, pod *corev1.Pod,
) (agent.ProbeResult, error) {
	image, err := pr.images.configOf(ctx, s.Image)
	if err != nil {
		return agent.ProbeResult{Health: wire.HealthUnknown},
			fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	if len(image.Health) == 0 {
		return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: "the image has no health " +
			"check of its own: choose another readiness check"}, nil
	}
	detail, err := pr.probeCommand(ctx, pod, image.Health)
	return probeResult(detail, err)
}

// probeResult distinguishes a service that is not ready from a cluster that could not be asked.
func probeResult(detail string, err error) (agent.ProbeResult, error) {
	switch {
	case err == nil:
		return agent.ProbeResult{Health: wire.HealthHealthy, Detail: detail}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: "no answer in time"}, nil
	case errors.Is(err, agent.ErrUnavailable):
		return agent.ProbeResult{Health: wire.HealthUnknown}, err
	}
	return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: err.Error()}, nil
}

// probeCommand runs a command in the service's container, with its secrets.
func (pr *probes) probeCommand(
	ctx context.Context, pod *corev1.Pod, command []string,
) (string, error) {
	full := command
	if readsSecrets(pod) {
		full = append([]string{helperTarget, "init", secretsPath, "--"}, command...)
	}
	output, code, err := pr.runInPod(ctx, pod.Namespace, pod.Name, mainContainer, full, nil)
	if err == nil && code != 0 {
		return "", fmt.Errorf("%s exited with code %d: %s", command[0], code, output)
	}
	return output, err
}

// readsSecrets reports whether the service was made with secret variables.
func readsSecrets(p *corev1.Pod) bool {
	c := p.Spec.Containers[0].Command
	return len(c) > 2 && c[0] == helperTarget && c[2] == secretsPath
}

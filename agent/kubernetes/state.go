package kubernetes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

const exitKilled = 137

// endedProbe is how a main container ended that does not run now; ok is false for one that may
// still start.
func endedProbe(p *corev1.Pod) (r agent.ProbeResult, ok bool) {
	s := containerState(p.Status.ContainerStatuses, mainContainer)
	var end *corev1.ContainerStateTerminated
	switch {
	case s != nil && s.State.Terminated != nil:
		end = s.State.Terminated
	case s != nil && s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
		end = s.LastTerminationState.Terminated
	case hasEnded(p):
		// The helper failed, or the pod was ended before its container had started.
		return agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: exitKilled,
			Detail: describePod(p)}, true
	default:
		return r, false
	}
	r = agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: int(end.ExitCode),
		OOM: end.Reason == "OOMKilled", Detail: fmt.Sprintf("exited with code %d", end.ExitCode)}
	switch {
	case r.OOM:
		r.Detail = "ran out of memory"
	case p.Status.Reason != "":
		// The cluster ended the pod: evicted, its machine shut down, its time over.
		r.Detail = joinReason(p.Status.Reason, p.Status.Message)
	case end.Message != "" && end.Reason != "Error" && end.Reason != "Completed":
		r.Detail = joinReason(end.Reason, end.Message)
	}
	return r, true
}

// describePod says in the cluster's words what a pod that does not run waits for.
func describePod(p *corev1.Pod) string {
	if p.Status.Reason != "" {
		return joinReason(p.Status.Reason, p.Status.Message)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "the cluster has no machine for it: " + c.Message
		}
	}
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
			return joinReason(w.Reason, w.Message)
		}
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s exited with code %d", s.Name, t.ExitCode)
		}
	}
	if p.Status.Phase == corev1.PodPending {
		return "its containers are being made"
	}
	return "its pod is " + strings.ToLower(string(p.Status.Phase))
}

func joinReason(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

func joinWords(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

package kubernetes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

const exitKilled = 137

// endedProbe is how a main container ended that does not run now; ok is false for one that may
// still start. Exit code 137 has four causes, which are told apart: lack of memory (OOM), the
// cluster (Cluster), our own stop, after which there is no pod, and somebody else.
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
			Detail: describePod(p), Cluster: describePod(p)}, true
	default:
		return r, false
	}
	r = agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: int(end.ExitCode),
		OOM: end.Reason == "OOMKilled", Detail: fmt.Sprintf("exited with code %d", end.ExitCode)}
	switch {
	case r.OOM:
		r.Detail = "ran out of memory"
	case endedByCluster(p) != "":
		r.Cluster = endedByCluster(p)
		r.Detail = r.Cluster
	case end.Reason == "ContainerStatusUnknown":
		r.Cluster = "its machine is lost: " + joinReason(end.Reason, end.Message)
		r.Detail = r.Cluster
	case end.Reason == "StartError" || end.Reason == "ContainerCannotRun":
		r.Detail = "its container cannot be started: " + joinReason(end.Reason, end.Message)
	case end.Message != "" && end.Reason != "Error" && end.Reason != "Completed":
		r.Detail = joinReason(end.Reason, end.Message)
	}
	return r, true
}

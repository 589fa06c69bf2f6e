package kubernetes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// endPatch is the only way to end a pod without removing it.
	endPatch = `{"spec":{"activeDeadlineSeconds":1}}`
	// stopMargin is how much longer than its grace period a pod may take to end.
	stopMargin = 60 * time.Second
	// statePause is how often the state of pods is looked at while one is waited for.
	statePause = 100 * time.Millisecond
)

// StopService takes the service its replica, or ends a job's pod; both objects stay. The machine
// sends SIGTERM, waits for the grace period, and kills.
func (sv *services) StopService(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (bool, error) {
	if err := sv.names.checkNames(deployment, string(service)); err != nil {
		return false, err
	}
	ran, err := sv.stopService(ctx, deployment, service)
	if err != nil {
		return ran, fmt.Errorf("stop service %s of deployment %s: %w", service, deployment, err)
	}
	return ran, nil
}

func (sv *services) stopService(
	ctx context.Context, deployment string, step pipeline.StepKey,
) (ran bool, err error) {
	pod, err := sv.currentPod(ctx, deployment, step)
	if err != nil {
		return false, err
	}
	if pod != nil && isJob(pod) {
		if hasMainEnded(pod) {
			return false, nil
		}
		if leavesResults(pod) && isRunning(pod) && sv.stopMain(ctx, pod) {
			return true, nil
		}
	}
	namespace := sv.names.namespaceName(deployment)
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if pod != nil && isJob(pod) {
		err = sv.pods.patch(asked, namespace, pod.Name, endPatch)
	} else {
		err = sv.scaleWorkload(asked, namespace, step, `{"spec":{"replicas":0}}`)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, wrapMutationErr(err)
	}
	return pod != nil && isRunning(pod), sv.awaitEnd(ctx, deployment, step)
}

// awaitEnd waits until no pod of the step runs, also none that is being removed.
func (sv *services) awaitEnd(ctx context.Context, deployment string, step pipeline.StepKey) error {
	namespace, selector := sv.names.namespaceName(deployment), sv.names.stepSelector(step)
	var limit time.Time
	for look := (throttle{pause: lostLook}); ; {
		all, err := sv.pods.list(ctx, namespace, selector)
		if err != nil {
			return wrapQueryErr(err)
		}
		running, due := 0, look.isDue()
		for _, p := range all {
			if hasEnded(&p) {
				continue
			}
			running++
			if limit.IsZero() {
				limit = time.Now().Add(graceOf(&p) + stopMargin)
			}
			if !due {
				continue
			}
			if err := sv.removeLost(ctx, &p, nothingShared); err != nil {
				return err
			}
		}
		if running == 0 {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("it has not ended %s after its grace period; its machine may be lost",
				stopMargin)
		}
		if err := wait.Sleep(ctx, statePause); err != nil {
			return err
		}
	}
}

func graceOf(p *corev1.Pod) time.Duration {
	if p.Spec.TerminationGracePeriodSeconds == nil {
		return defaultGrace
	}
	return time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second
}

// isJob: pods of services are started again, those of jobs never.
func isJob(p *corev1.Pod) bool { return p.Spec.RestartPolicy == corev1.RestartPolicyNever }

// hasMainEnded reports whether a bare pod's own process has ended; another container may still wait
// for its results to be read.
func hasMainEnded(p *corev1.Pod) bool {
	s := containerState(p.Status.ContainerStatuses, mainContainer)
	return hasEnded(p) || s != nil && s.State.Terminated != nil
}

// hasEnded reports whether no container of the pod runs or will run again.
func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// isRunning reports whether the main container runs.
func isRunning(p *corev1.Pod) bool {
	s := containerState(p.Status.ContainerStatuses, mainContainer)
	return p.DeletionTimestamp == nil && s != nil && s.State.Running != nil
}

// containerState is nil for a container that the machine has not looked at.
func containerState(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

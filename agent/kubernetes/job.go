package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// startJob makes the pod of a job, which is started once in a run. A pod of an earlier run is
// removed.
func (sv *services) startJob(ctx context.Context, s agent.ServiceSpec) error {
	namespace := sv.names.namespaceName(s.Deployment)
	there, err := sv.getPod(ctx, namespace, string(s.Step))
	if err != nil {
		return err
	}
	if there != nil && there.Labels[labelInstall] != sv.names.install {
		return fmt.Errorf("there is a pod %s that is not ours in its namespace: remove it", s.Step)
	}
	if there != nil && there.Labels[labelRun] == s.Run && there.DeletionTimestamp == nil {
		if needsDelivery(s) && waitsForDelivery(there) {
			_, err = sv.deliver(ctx, s, there.Labels[labelMade])
		}
		return err
	}
	if there != nil {
		if err := sv.removePod(ctx, there, graceOf(there)); err != nil {
			return err
		}
	}
	return sv.makeJob(ctx, s)
}

// startNever makes the bare pod of a service that is not started again when it has ended. One that
// has ended is replaced all the same: whoever asks for this wants it to run.
func (sv *services) startNever(ctx context.Context, s agent.ServiceSpec) error {
	template, err := sv.podTemplate(ctx, s)
	if err != nil {
		return err
	}
	spec, err := hashParts(template)
	if err != nil {
		return err
	}
	there, err := sv.getPod(ctx, sv.names.namespaceName(s.Deployment), string(s.Step))
	if err != nil {
		return err
	}
	if there != nil && there.Labels[labelInstall] == sv.names.install &&
		there.Labels[labelSpec] == spec && there.DeletionTimestamp == nil && !hasEnded(there) {
		same := true
		if needsDelivery(s) {
			same, err = sv.deliver(ctx, s, there.Labels[labelMade])
		}
		if err != nil || same {
			return err
		}
	}
	if err := sv.removeBarePod(ctx, s); err != nil {
		return err
	}
	if err := sv.removeOtherWorkload(ctx, s); err != nil {
		return err
	}
	return sv.makeJob(ctx, s)
}

// removeBarePod removes the pod of a service that was not to be restarted.
func (sv *services) removeBarePod(ctx context.Context, s agent.ServiceSpec) error {
	there, err := sv.getPod(ctx, sv.names.namespaceName(s.Deployment), string(s.Step))
	if err != nil || there == nil {
		return err
	}
	if there.Labels[labelInstall] != sv.names.install {
		return fmt.Errorf("there is a pod %s that is not ours in its namespace: remove it", s.Step)
	}
	return sv.removePod(ctx, there, graceOf(there))
}

// removeOtherWorkload removes what kept the service running while it was to be restarted.
func (sv *services) removeOtherWorkload(ctx context.Context, s agent.ServiceSpec) error {
	namespace := sv.names.namespaceName(s.Deployment)
	w, err := sv.workloadOf(ctx, namespace, s.Step)
	if err != nil || w == nil || w.Labels[labelInstall] != sv.names.install {
		return err
	}
	if _, err := sv.removeWorkload(ctx, namespace, s.Step, w.UID); err != nil {
		return err
	}
	return sv.awaitEnd(ctx, s.Deployment, s.Step)
}

func (sv *services) makeJob(ctx context.Context, s agent.ServiceSpec) error {
	template, err := sv.podTemplate(ctx, s)
	if err != nil {
		return err
	}
	spec, err := hashParts(template)
	if err == nil {
		err = sv.tryTemplate(ctx, s, template)
	}
	if err != nil {
		return err
	}
	if err := sv.volumes.ensureClaims(ctx, s); err != nil {
		return err
	}
	if err := sv.ensureName(ctx, s); err != nil {
		return err
	}
	pod := &corev1.Pod{Spec: template.Spec, ObjectMeta: metav1.ObjectMeta{Name: string(s.Step),
		Namespace: sv.names.namespaceName(s.Deployment),
		Labels:    sv.podLabels(agent.KindService, s.Deployment, s.Run, s.Step, spec, true)}}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	made := newMark()
	pod.Labels[labelMade] = made
	maps.Copy(pod.Labels, sv.shareLabels(s))
	if err := sv.createPulling(ctx, sv.pulls, pod, s.Image); err != nil {
		return err
	}
	if needsDelivery(s) {
		_, err = sv.deliver(ctx, s, made)
	}
	return err
}

// createPulling makes a bare pod, and lets its machine pull the image.
func (b *base) createPulling(
	ctx context.Context, pulls *pullSecrets, pod *corev1.Pod, image pipeline.Image,
) error {
	pulls.referToSecret(&pod.Spec, image)
	release, err := pulls.provideSecret(ctx, pod.Namespace, pod.Name, image)
	if err != nil {
		return err
	}
	err = b.createPod(ctx, pod)
	release(b.podHasPulled(pod.Namespace, pod.Name))
	return err
}

// getPod returns nil for a pod that is not there.
func (b *base) getPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	p, err := b.pods.get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, wrapQueryErr(err)
	}
	return p, nil
}

// createPod waits for what the controllers of a new namespace make.
func (b *base) createPod(ctx context.Context, pod *corev1.Pod) error {
	err := untilAdmitted(ctx, func(ctx context.Context) error {
		_, err := b.pods.create(ctx, pod)
		return err
	})
	return explainPodRefusal(wrapMutationErr(err))
}

// removePod ends a pod within the grace period, and waits until it is gone. Another pod of the
// same name is left alone. On a lost machine, it is gone when it can do no harm any more.
func (b *base) removePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace+stopMargin)
	defer cancel()
	// Zero would remove the object at once, whatever runs on the machine.
	err := b.pods.remove(ctx, pod.Namespace, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(max(wholeSeconds(grace), 1)),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return wrapMutationErr(err)
	}
	for look := (throttle{pause: lostLook}); ; {
		there, err := b.getPod(ctx, pod.Namespace, pod.Name)
		if err == nil && (there == nil || there.UID != pod.UID) {
			b.pluginLeases.forget(pod.UID)
			return nil
		}
		if err == nil && look.isDue() {
			err = b.removeLost(ctx, there, nothingShared)
		}
		if err != nil {
			return err
		}
		if err := wait.Sleep(ctx, statePause); err != nil {
			return fmt.Errorf("pod %s does not end; its machine may be lost: %w", pod.Name, err)
		}
	}
}

package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nullops/nullops/pipeline"
)

// movedPod is one of a service that the cluster ended, and made another in place of.
type movedPod struct {
	uid types.UID
	why string
}

// noteMove remembers why the cluster ended a pod of a service: a moment later the pod is gone, and
// the one in its place has not failed.
func (sv *services) noteMove(p *corev1.Pod) {
	why := endedByCluster(p)
	if why == "" || isJob(p) {
		return
	}
	key := sv.deliveryKey(p.Labels[labelDeployment], pipeline.StepKey(p.Labels[labelStep]))
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.moved[key] = movedPod{uid: p.UID, why: why}
}

// findMoves notes why earlier pods of the step ended that are still there, for an agent that was
// not there when they did.
func (sv *services) findMoves(ctx context.Context, now *corev1.Pod) {
	all, err := sv.pods.list(ctx, now.Namespace,
		sv.names.stepSelector(pipeline.StepKey(now.Labels[labelStep])))
	if err != nil {
		return // then the sentence is a shorter one
	}
	for i := range all {
		if p := &all[i]; p.UID != now.UID && !isNewer(p, now) {
			sv.noteMove(p)
		}
	}
}

// describeMove says why the pod before this one ended, if the cluster ended it.
func (sv *services) describeMove(now *corev1.Pod) string {
	key := sv.deliveryKey(now.Labels[labelDeployment], pipeline.StepKey(now.Labels[labelStep]))
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if before, known := sv.moved[key]; known && before.uid != now.UID {
		return "; before, " + before.why
	}
	return ""
}

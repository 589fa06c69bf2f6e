package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// deliverWithin is how long a pod may take from its creation until its helper runs: it is given to
// a machine, and the helper's image is pulled there.
const deliverWithin = 90 * time.Second

// needsDelivery reports whether a service reads secrets or files.
func needsDelivery(s agent.ServiceSpec) bool { return len(s.SecretEnv) > 0 || len(s.Files) > 0 }

// deliver brings secrets and files to the pod with this mark, once its helper waits for them. They
// travel over an exec stream only. It returns false for a pod that was started with others.
func (sv *services) deliver(ctx context.Context, s agent.ServiceSpec, made string) (bool, error) {
	d := sidecar.Delivery{Env: s.SecretEnv}
	for _, f := range s.Files {
		d.Files = append(d.Files, f.Content)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return false, errors.New("its secrets and files cannot be encoded")
	}
	limited, cancel := context.WithTimeout(ctx, deliverWithin)
	defer cancel()
	what := "no pod was made for it"
	for {
		pod, err := sv.currentPod(limited, s.Deployment, s.Step)
		if err != nil && limited.Err() == nil {
			return false, err
		}
		if pod != nil && pod.Labels[labelMade] == made {
			same, done, err := sv.tryDelivery(limited, pod, data)
			if done && same {
				sv.rememberDelivery(s, pod, data)
			}
			if done {
				return same, nil
			}
			if what = describePod(pod); err != nil {
				what = err.Error()
			}
		}
		if wait.Sleep(limited, statePause) != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			return false, fmt.Errorf("its secrets cannot be delivered: %s", what)
		}
	}
}

// tryDelivery delivers once, if the pod is where it can be. An error is no end: what the cluster
// says of a pod is a moment old, and the container may have ended or not begun yet.
func (sv *services) tryDelivery(
	ctx context.Context, pod *corev1.Pod, data []byte,
) (same, done bool, err error) {
	switch {
	case waitsForDelivery(pod):
		same, err = sv.deliverTo(ctx, pod, helperContainer, helperSource, data)
	case isRunning(pod):
		same, err = sv.deliverTo(ctx, pod, mainContainer, helperTarget, data)
	case hasEnded(pod) || hasBeenStarted(pod):
		return false, true, nil // only a new pod can be sure to read these
	default:
		return false, false, nil
	}
	return same, err == nil, err
}

// delivered is what the pods of one version of a service read. It is in memory only.
type delivered struct {
	made string
	data []byte
	// pod is the one that has them.
	pod types.UID
}

func (sv *services) deliveryKey(deployment string, step pipeline.StepKey) string {
	return deployment + "/" + string(step)
}

func (sv *services) rememberDelivery(s agent.ServiceSpec, pod *corev1.Pod, data []byte) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.delivered[sv.deliveryKey(s.Deployment, s.Step)] = delivered{
		made: pod.Labels[labelMade], data: data, pod: pod.UID}
}

// forgetStep forgets what a step reads, what it left and why it moved, or all of a deployment
// without a step.
func (sv *services) forgetStep(deployment string, step pipeline.StepKey) {
	isMeant := func(key string) bool {
		return key == sv.deliveryKey(deployment, step) ||
			step == "" && strings.HasPrefix(key, deployment+"/")
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	maps.DeleteFunc(sv.delivered, func(key string, _ delivered) bool { return isMeant(key) })
	maps.DeleteFunc(sv.results, func(key string, _ keptResults) bool { return isMeant(key) })
	maps.DeleteFunc(sv.moved, func(key string, _ movedPod) bool { return isMeant(key) })
}

// redeliverSecrets brings secrets and files to a pod that the cluster made in place of another,
// after a machine was drained or lost. It returns false if this process does not have them: then
// the service has to be started again.
func (sv *services) redeliverSecrets(
	ctx context.Context, deployment string, step pipeline.StepKey, pod *corev1.Pod,
) bool {
	sv.mu.Lock()
	d, known := sv.delivered[sv.deliveryKey(deployment, step)]
	sv.mu.Unlock()
	if !known || d.made != pod.Labels[labelMade] {
		return false
	}
	if d.pod == pod.UID {
		return true
	}
	if _, err := sv.deliverTo(ctx, pod, helperContainer, helperSource, d.data); err != nil {
		sv.log.DebugContext(ctx, "a pod's secrets are not delivered yet", "pod", pod.Name,
			"error", err)
	}
	return true
}

func (sv *services) deliverTo(
	ctx context.Context, pod *corev1.Pod, container, helper string, data []byte,
) (bool, error) {
	output, code, err := sv.runInPod(ctx, pod.Namespace, pod.Name, container,
		[]string{helper, "accept", deliveryFolder}, bytes.NewReader(data))
	switch {
	case err != nil:
		return false, err
	case code == sidecar.ExitDiffers:
		return false, nil
	case code != 0:
		return false, fmt.Errorf("the helper did not take its secrets: %s", output)
	}
	return true, nil
}

// waitsForDelivery reports whether the helper runs, which is before the main container does.
func waitsForDelivery(p *corev1.Pod) bool {
	s := containerState(p.Status.InitContainerStatuses, helperContainer)
	return s != nil && s.State.Running != nil
}

// hasBeenStarted reports whether the main container ran and does not now.
func hasBeenStarted(p *corev1.Pod) bool {
	s := containerState(p.Status.ContainerStatuses, mainContainer)
	return s != nil && (s.State.Terminated != nil || s.LastTerminationState.Terminated != nil)
}

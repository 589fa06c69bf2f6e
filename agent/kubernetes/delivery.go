package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
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
			switch {
			case waitsForDelivery(pod):
				return sv.deliverTo(limited, pod, helperContainer, helperSource, data)
			case isRunning(pod):
				return sv.deliverTo(limited, pod, mainContainer, helperTarget, data)
			case hasEnded(pod) || hasBeenStarted(pod):
				return false, nil // only a new pod can be sure to read these
			}
			what = describePod(pod)
		}
		if wait.Sleep(limited, statePause) != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			return false, fmt.Errorf("its secrets cannot be delivered: %s", what)
		}
	}
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

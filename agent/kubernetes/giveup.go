package kubernetes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
)

// GiveUpMachine implements agent.MachineReleaser. What writes to volumes is all that has to be
// released: everything else on a lost machine is replaced without a person's word.
func (ob *objects) GiveUpMachine(ctx context.Context, machine string) (services int, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	found, err := ob.findMachine(ctx, machine)
	if err != nil {
		return 0, err
	}
	if found == nil {
		return 0, fmt.Errorf("the cluster has no machine %s: what was there is started elsewhere "+
			"without it", machine)
	}
	if _, unready := unreadySince(found); !unready {
		return 0, fmt.Errorf("machine %s is ready, and its pods may be at work: drain it with "+
			"'kubectl drain %s'", machine, machine)
	}
	pods, err := ob.pods.list(ctx, "", ob.names.ownSelector())
	if err != nil {
		return 0, wrapQueryErr(err)
	}
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName != machine || !hasClaims(p) {
			continue
		}
		ob.log.WarnContext(ctx, "a pod is removed whose machine was given up", "pod", p.Name,
			"namespace", p.Namespace, "machine", machine)
		if err := ob.forgetPod(ctx, p); err != nil {
			return services, err
		}
		if p.Labels[labelKind] == string(agent.KindService) {
			services++
		}
	}
	return services, nil
}

// forgetPod removes a pod from the cluster's store without its machine's word that it has ended.
func (b *base) forgetPod(ctx context.Context, p *corev1.Pod) error {
	err := b.pods.remove(ctx, p.Namespace, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}})
	if isGone(err) {
		return nil
	}
	return wrapMutationErr(err)
}

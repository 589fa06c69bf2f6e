package kubernetes

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/nullops/nullops/agent"
)

// The cluster keeps the pods of a machine that does not answer until the machine is back, or a
// person says that it is gone: nobody else knows whether they still run. A run must not wait for a
// person, so we remove such pods from the cluster's store ourselves where that is safe. If the
// machine is only cut off, its kubelet ends what is not in the store any more when it is back.

// lostLook is how often the machine of a pod is looked at that does not end.
const lostLook = time.Second

// lostPods is whose pods may be removed.
type lostPods int

const (
	// nothingShared: not those that write to a volume, beside which another pod would then write.
	nothingShared lostPods = iota
	// wholeDeployment: those too, since the volumes are removed with them.
	wholeDeployment
)

// removeLost removes a pod from the store that was asked to end and cannot be known to, if it
// cannot do any harm.
func (b *base) removeLost(ctx context.Context, p *corev1.Pod, which lostPods) error {
	if p.DeletionTimestamp == nil || time.Now().Before(p.DeletionTimestamp.Time) {
		return nil
	}
	machine, err := b.machineOf(ctx, p)
	if err != nil || machine == nil || !b.mayRemoveLost(p, machine, which) {
		return err
	}
	b.log.WarnContext(ctx, "a pod is removed whose machine does not answer", "pod", p.Name,
		"namespace", p.Namespace, "machine", machine.Name, "reason", explainUnready(*machine))
	return b.forgetPod(ctx, p)
}

// mayRemoveLost: a plugin has ended when its lease is over. Everything else counts as lost when the
// cluster has given its services to other machines.
func (b *base) mayRemoveLost(p *corev1.Pod, machine *corev1.Node, which lostPods) bool {
	since, unready := unreadySince(machine)
	switch {
	case !unready:
		return false
	case p.Labels[labelKind] == string(agent.KindPlugin):
		return b.pluginLeases.areOver(p.UID)
	case which != wholeDeployment && hasClaims(p):
		return false
	}
	return time.Since(since) > b.config.LostAfter
}

// machineOf returns nil for a pod without a machine, and for one whose machine is gone: its pod is
// removed by the cluster.
func (b *base) machineOf(ctx context.Context, p *corev1.Pod) (*corev1.Node, error) {
	if p.Spec.NodeName == "" {
		return nil, nil
	}
	return b.findMachine(ctx, p.Spec.NodeName)
}

// findMachine returns nil if the cluster has none of this name.
func (b *base) findMachine(ctx context.Context, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	found, err := b.machines.listBy(ctx, "", metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil || len(found) == 0 {
		return nil, wrapQueryErr(err)
	}
	return &found[0], nil
}

// unreadySince is since when a machine does not answer, as the cluster says.
func unreadySince(m *corev1.Node) (since time.Time, unready bool) {
	for _, c := range m.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status != corev1.ConditionTrue
		}
	}
	return m.CreationTimestamp.Time, true
}

func hasClaims(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil
	})
}

// removeLostIn does it for all pods of a namespace that is removed. What cannot be done now is done
// with the next look.
func (b *base) removeLostIn(ctx context.Context, namespace string) {
	pods, err := b.pods.list(ctx, namespace, "")
	for i := range pods {
		if err == nil {
			err = b.removeLost(ctx, &pods[i], wholeDeployment)
		}
	}
	if err != nil {
		b.log.DebugContext(ctx, "pods of lost machines are not removed yet", "namespace", namespace,
			"error", err)
	}
}

// throttle limits how often something is done in a loop that looks more often.
type throttle struct {
	pause time.Duration
	last  time.Time
}

func (th *throttle) isDue() bool {
	if time.Since(th.last) < th.pause {
		return false
	}
	th.last = time.Now()
	return true
}

// waitsForLost is what follows of a lost machine for a service with volumes.
const waitsForLost = ", and its pod there may still write to its volumes: it is started " +
	"elsewhere once the machine is back, or an admin says that it is gone ('nullops node give-up " +
	"NODE MACHINE')"

// explainLost says which machine a pod is on that does not answer; it is empty for other pods.
func (b *base) explainLost(ctx context.Context, p *corev1.Pod) (string, error) {
	machine, err := b.machineOf(ctx, p)
	if err != nil || machine == nil {
		return "", err
	}
	if _, unready := unreadySince(machine); !unready {
		return "", nil
	}
	return "its machine " + machine.Name + " is lost (" + oneLine(explainUnready(*machine)) + ")", nil
}

package kubernetes

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

var _ agent.DeploymentLimiter = (*Kubernetes)(nil)

const (
	// limitName is that of the ResourceQuota and of the LimitRange.
	limitName = "nullops-limit"
	// quotaPatience is how long a controller may take to count anew: after a quota was made, and
	// after pods are gone. Until then the cluster refuses what has room.
	quotaPatience = 10 * time.Second
	// accountPatience is how long a new namespace may be without its service account, which every
	// pod needs, and a new quota without its figures.
	accountPatience = 20 * time.Second
	// helperCPU and helperMemoryMiB are what the quota adds for each service and job: our own
	// containers in its pod count, and need more than a very small service.
	helperCPU       = 0.1
	helperMemoryMiB = 64
)

// LimitDeployment brings the namespace's ResourceQuota and LimitRange to the project's limit. The
// quota counts services and jobs. Pods of plugins and of copies have a deadline, which is what
// takes them out of its scope. The LimitRange gives containers that somebody else puts into the
// namespace, or into our pods, the limits without which the quota would refuse them.
func (ns *namespaces) LimitDeployment(
	ctx context.Context, deployment string, limits pipeline.Resources, containers int,
) error {
	err := ns.names.checkNames(deployment)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		err = ns.limitSpace(ctx, deployment, limits, containers)
	}
	if err != nil {
		return fmt.Errorf("limit deployment %s: %w", deployment, err)
	}
	return nil
}

func (ns *namespaces) limitSpace(
	ctx context.Context, deployment string, limits pipeline.Resources, containers int,
) error {
	meta := metav1.ObjectMeta{Name: limitName, Namespace: ns.names.namespaceName(deployment),
		Labels: map[string]string{labelInstall: ns.names.install, labelDeployment: deployment}}
	there, err := ns.quotas.get(ctx, meta.Namespace, limitName)
	if err != nil && !apierrors.IsNotFound(err) {
		return wrapQueryErr(err)
	}
	if limits == (pipeline.Resources{}) {
		if err != nil {
			return nil
		}
		return ns.removeLimit(ctx, meta.Namespace)
	}
	if err := ns.ensureRange(ctx, meta, rangeSpec(limits)); err != nil {
		return fmt.Errorf("LimitRange %s: %w", limitName, err)
	}
	mail, failed := ns.hasMailPort(ctx, deployment)
	if failed != nil {
		return failed
	}
	if mail {
		containers++ // its pod takes no more than our helper in another one
	}
	spec := quotaSpec(limits, containers)
	switch {
	case err != nil:
		_, err = ns.quotas.create(ctx, &corev1.ResourceQuota{ObjectMeta: meta, Spec: spec})
	case !sameQuantities(there.Spec.Hard, spec.Hard):
		there.Spec.Hard = spec.Hard
		_, err = ns.quotas.update(ctx, there)
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("ResourceQuota %s: %w", limitName, explainNamespace(wrapMutationErr(err)))
	}
	return nil
}

// quotaSpec is the project's limit, and what our own containers take.
func quotaSpec(limits pipeline.Resources, containers int) corev1.ResourceQuotaSpec {
	hard := corev1.ResourceList{}
	if limits.CPU > 0 {
		hard[corev1.ResourceLimitsCPU] = *resource.NewMilliQuantity(
			int64(limits.CPU*1000)+int64(containers)*int64(helperCPU*1000), resource.DecimalSI)
	}
	if limits.MemoryMiB > 0 {
		hard[corev1.ResourceLimitsMemory] = *mebibytes(limits.MemoryMiB + containers*helperMemoryMiB)
	}
	return corev1.ResourceQuotaSpec{Hard: hard,
		Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}}
}

func sameQuantities(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		other, ok := b[name]
		if !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

// rangeSpec is for containers that name no limit; ours all do.
func rangeSpec(limits pipeline.Resources) corev1.LimitRangeSpec {
	most, small := pipeline.Resources{CPU: defaultCPU, MemoryMiB: defaultMemoryMiB},
		pipeline.Resources{CPU: requestedCPU, MemoryMiB: requestedMemoryMiB}
	if limits.CPU > 0 {
		most.CPU = min(most.CPU, limits.CPU)
	}
	if limits.MemoryMiB > 0 {
		most.MemoryMiB = min(most.MemoryMiB, limits.MemoryMiB)
	}
	small.CPU, small.MemoryMiB = min(small.CPU, most.CPU), min(small.MemoryMiB, most.MemoryMiB)
	return corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
		Default: resourceList(most), DefaultRequest: resourceList(small)}}}
}

func (ns *namespaces) ensureRange(
	ctx context.Context, meta metav1.ObjectMeta, spec corev1.LimitRangeSpec,
) error {
	_, err := ns.ranges.create(ctx, &corev1.LimitRange{ObjectMeta: meta, Spec: spec})
	if !apierrors.IsAlreadyExists(err) {
		return explainNamespace(wrapMutationErr(err))
	}
	there, err := ns.ranges.get(ctx, meta.Namespace, limitName)
	if err != nil {
		return wrapQueryErr(err)
	}
	if len(there.Spec.Limits) == 1 && reflect.DeepEqual(there.Labels, meta.Labels) &&
		sameQuantities(there.Spec.Limits[0].Default, spec.Limits[0].Default) {
		return nil
	}
	there.Spec, there.Labels = spec, meta.Labels
	_, err = ns.ranges.update(ctx, there)
	return wrapMutationErr(err)
}

func (ns *namespaces) removeLimit(ctx context.Context, namespace string) error {
	err := ignoreNotFound(ns.quotas.remove(ctx, namespace, limitName, metav1.DeleteOptions{}))
	if err == nil {
		err = ignoreNotFound(ns.ranges.remove(ctx, namespace, limitName, metav1.DeleteOptions{}))
	}
	return wrapMutationErr(err)
}

// tryPod asks the cluster whether it would take a pod, before anything is made for it: quotas,
// PodSecurity and webhooks refuse the pods of a Deployment long after the Deployment was taken. A
// webhook that cannot be tried is no reason not to go on.
func (b *base) tryPod(ctx context.Context, pod *corev1.Pod) error {
	err := untilAdmitted(ctx, func(ctx context.Context) error { return b.pods.tryCreate(ctx, pod) })
	if err != nil && strings.Contains(err.Error(), "does not support dry run") {
		return nil
	}
	return explainPodRefusal(wrapMutationErr(err))
}

// untilAdmitted repeats a creation that is refused only because a controller has not done its work
// yet: new namespaces have no service account for a moment, and quotas are counted a moment later.
func untilAdmitted(ctx context.Context, create func(context.Context) error) error {
	for began := time.Now(); ; {
		asked, cancel := context.WithTimeout(ctx, queryTimeout)
		err := create(asked)
		cancel()
		if time.Since(began) > controllerPatience(err) {
			return err
		}
		if err := wait.Sleep(ctx, statePause); err != nil {
			return err
		}
	}
}

// controllerPatience is how long a refusal may yet become something else; it is negative for one
// that will not.
func controllerPatience(err error) time.Duration {
	if !apierrors.IsForbidden(err) {
		return -1
	}
	text := err.Error()
	switch {
	case isQuotaRefusal(text):
		return quotaPatience
	case strings.Contains(text, "serviceaccount") && strings.Contains(text, "not found"),
		strings.Contains(text, "status unknown for quota"):
		return accountPatience
	}
	return -1
}

func isQuotaRefusal(text string) bool { return strings.Contains(text, "exceeded quota") }

// explainPodRefusal says whose decision it was that there is no pod.
func explainPodRefusal(err error) error {
	switch {
	case apierrors.IsForbidden(err) && isQuotaRefusal(err.Error()):
		return explainQuota(err)
	case apierrors.IsNotFound(err):
		return explainNamespace(err)
	case err != nil && isAnswer(err):
		return fmt.Errorf("the cluster refuses its pod: %w", err)
	}
	return err
}

// explainQuota names a quota that is too small: ours, which is the project's limit, or another one.
func explainQuota(err error) error {
	if !apierrors.IsForbidden(err) || !isQuotaRefusal(err.Error()) {
		return err
	}
	return fmt.Errorf("%s: %w", quotaWords(err.Error()), err)
}

func quotaWords(message string) string {
	if strings.Contains(message, "exceeded quota: "+limitName+",") {
		return "the project's limit has no room for it"
	}
	return "a quota of its namespace, which is not NullOps', has no room for it"
}

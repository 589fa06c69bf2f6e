package kubernetes

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nullops/nullops/pipeline"
)

// workload is what keeps the one pod of a service. A service without volumes has a Deployment: a
// pod on a lost machine is replaced at once. One with volumes has a StatefulSet, which never has
// two pods, so that nobody writes to a volume beside another.
type workload struct {
	metav1.ObjectMeta
	stateful bool
	replicas int32
	template corev1.PodTemplateSpec
	selector map[string]string
	// refusal is why the cluster does not make its pod, if it says so here.
	refusal string
	// object is what was read, which an update needs.
	object any
}

// kind is the word of Kubernetes for it.
func (w workload) kind() string {
	if w.stateful {
		return "StatefulSet"
	}
	return "Deployment"
}

func fromDeployment(d *appsv1.Deployment) *workload {
	w := &workload{ObjectMeta: d.ObjectMeta, replicas: 1, template: d.Spec.Template, object: d}
	if d.Spec.Replicas != nil {
		w.replicas = *d.Spec.Replicas
	}
	for _, c := range d.Status.Conditions {
		// A quota, a webhook or PodSecurity refuses the pod.
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.refusal = c.Message
		}
	}
	return w
}

func fromStatefulSet(s *appsv1.StatefulSet) *workload {
	w := &workload{ObjectMeta: s.ObjectMeta, stateful: true, replicas: 1,
		template: s.Spec.Template, object: s}
	if s.Spec.Replicas != nil {
		w.replicas = *s.Spec.Replicas
	}
	return w
}

func (w workload) deploymentSpec() appsv1.DeploymentSpec {
	return appsv1.DeploymentSpec{Replicas: &w.replicas, RevisionHistoryLimit: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: w.selector}, Template: w.template,
		// Two of one service side by side would be something else than on Docker.
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}
}

func (w workload) statefulSetSpec() appsv1.StatefulSetSpec {
	return appsv1.StatefulSetSpec{Replicas: &w.replicas, RevisionHistoryLimit: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: w.selector}, Template: w.template,
		ServiceName: w.Name,
		// Otherwise a pod that never became ready would not be replaced by a new version.
		PodManagementPolicy: appsv1.ParallelPodManagement}
}

// workloadOf returns the workload of a service, or nil.
func (b *base) workloadOf(
	ctx context.Context, namespace string, step pipeline.StepKey,
) (*workload, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	d, err := b.deployments.get(ctx, namespace, string(step))
	if err == nil {
		return fromDeployment(d), nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, wrapQueryErr(err)
	}
	s, err := b.statefulSets.get(ctx, namespace, string(step))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, wrapQueryErr(err)
	}
	return fromStatefulSet(s), nil
}

func (b *base) createWorkload(ctx context.Context, w workload) (err error) {
	if w.stateful {
		_, err = b.statefulSets.create(ctx,
			&appsv1.StatefulSet{ObjectMeta: w.ObjectMeta, Spec: w.statefulSetSpec()})
	} else {
		_, err = b.deployments.create(ctx,
			&appsv1.Deployment{ObjectMeta: w.ObjectMeta, Spec: w.deploymentSpec()})
	}
	return err
}

// updateWorkload brings what was read to a wanted workload of the same kind.
func (b *base) updateWorkload(ctx context.Context, there, wanted workload) (err error) {
	switch o := there.object.(type) {
	case *appsv1.StatefulSet:
		spec := wanted.statefulSetSpec()
		o.Labels, o.Spec.Replicas, o.Spec.Template = wanted.Labels, spec.Replicas, spec.Template
		_, err = b.statefulSets.update(ctx, o)
	case *appsv1.Deployment:
		o.Labels, o.Spec = wanted.Labels, wanted.deploymentSpec()
		_, err = b.deployments.update(ctx, o)
	}
	return err
}

// scaleWorkload sets the number of replicas; without a workload, it is NotFound.
func (b *base) scaleWorkload(
	ctx context.Context, namespace string, step pipeline.StepKey, patch string,
) error {
	err := b.deployments.patch(ctx, namespace, string(step), patch)
	if apierrors.IsNotFound(err) {
		err = b.statefulSets.patch(ctx, namespace, string(step), patch)
	}
	return err
}

// removeWorkload removes the workload with this id, and reports whether there was one. Its pods
// end in the background.
func (b *base) removeWorkload(
	ctx context.Context, namespace string, step pipeline.StepKey, uid types.UID,
) (bool, error) {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid},
		PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := b.deployments.remove(ctx, namespace, string(step), options)
	if isGone(err) {
		err = b.statefulSets.remove(ctx, namespace, string(step), options)
	}
	if isGone(err) {
		return false, nil
	}
	return err == nil, wrapMutationErr(err)
}

// isGone: there is none, or another one has the name.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// listWorkloads lists those of one namespace, or of all if it is empty.
func (b *base) listWorkloads(ctx context.Context, namespace, labels string) (
	all []workload, err error) {
	deployments, err := b.deployments.list(ctx, namespace, labels)
	if err != nil {
		return nil, err
	}
	for i := range deployments {
		all = append(all, *fromDeployment(&deployments[i]))
	}
	sets, err := b.statefulSets.list(ctx, namespace, labels)
	for i := range sets {
		all = append(all, *fromStatefulSet(&sets[i]))
	}
	return all, err
}

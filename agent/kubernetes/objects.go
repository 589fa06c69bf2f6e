package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/wait"
)

// removeTime bounds the removal of a namespace, once its pods' grace periods are over.
const removeTime = 2 * time.Minute

// objects lists and removes what there is of our installation.
type objects struct {
	*base
	services *services
	plugins  *plugins
}

// List returns every object of this installation, in every state.
func (ob *objects) List(ctx context.Context) ([]agent.Object, error) {
	return ob.listObjects(ctx, "")
}

// listObjects lists those of one namespace, or of all if it is empty.
func (ob *objects) listObjects(ctx context.Context, namespace string) ([]agent.Object, error) {
	patient, done := context.WithTimeout(ctx, sweepPatience)
	ob.sweeps.waitFor(patient)
	done()
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	own := ob.names.ownSelector()
	spaces, err := ob.namespaces.list(ctx, "", own)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", wrapQueryErr(err))
	}
	policies, err := ob.policies.list(ctx, namespace, own)
	if err != nil {
		return nil, fmt.Errorf("list network policies: %w", wrapQueryErr(err))
	}
	workloads, err := ob.listWorkloads(ctx, namespace, own)
	if err != nil {
		return nil, fmt.Errorf("list Deployments and StatefulSets: %w", wrapQueryErr(err))
	}
	claims, err := ob.claims.list(ctx, namespace, own)
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", wrapQueryErr(err))
	}
	pods, err := ob.pods.list(ctx, namespace, own)
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", wrapQueryErr(err))
	}
	var all []agent.Object
	for _, n := range spaces {
		if namespace == "" || n.Name == namespace {
			all = append(all, newObject(&n))
		}
	}
	for _, p := range policies {
		if p.Name == admitPolicy {
			o := newObject(&p)
			o.Running = !lacksMailPort(p.Namespace, policies, workloads)
			all = append(all, o)
		}
	}
	for _, c := range claims {
		all = append(all, newObject(&c))
	}
	return append(all, ob.listSteps(workloads, pods)...), nil
}

// lacksMailPort reports whether a deployment is to have a mail port whose workload is gone. Such a
// relay does not run, and is prepared again.
func lacksMailPort(
	namespace string, policies []networkingv1.NetworkPolicy, workloads []workload,
) bool {
	return slices.ContainsFunc(policies, func(p networkingv1.NetworkPolicy) bool {
		return p.Namespace == namespace && p.Name == mailPolicy
	}) && !slices.ContainsFunc(workloads, func(w workload) bool {
		return w.Namespace == namespace && isMailWorkload(&w) && w.replicas > 0
	})
}

// listSteps returns services, jobs, plugins and copies. The pods of a service hang on its workload.
func (ob *objects) listSteps(workloads []workload, pods []corev1.Pod) (all []agent.Object) {
	running := map[string]bool{}
	for _, p := range pods {
		if !isJob(&p) {
			key := p.Namespace + "/" + p.Labels[labelStep]
			running[key] = running[key] || isRunning(&p)
			continue
		}
		o := newObject(&p)
		o.Running = isRunning(&p)
		o.Waiting = ob.plugins.isWaiting(p.Namespace, p.Name)
		all = append(all, o)
	}
	for _, w := range workloads {
		if isMailWorkload(&w) {
			continue // a part of what the contract calls the relay
		}
		o := newObject(&w)
		o.Running = running[w.Namespace+"/"+w.Labels[labelStep]]
		all = append(all, o)
	}
	return all
}

func newObject(m metav1.Object) agent.Object {
	o := agent.ObjectFromLabels(m.GetLabels())
	o.ID, o.Name = string(m.GetUID()), m.GetName()
	if m.GetNamespace() != "" {
		o.Name = m.GetNamespace() + "/" + m.GetName()
	}
	return o
}

// Remove deletes one object and what hangs on it.
func (ob *objects) Remove(ctx context.Context, o agent.Object) error {
	if err := ob.removeObject(ctx, o); err != nil {
		return fmt.Errorf("remove %s %s: %w", o.Kind, o.Name, err)
	}
	return nil
}

func (ob *objects) removeObject(ctx context.Context, o agent.Object) error {
	if err := ob.names.checkNames(o.Deployment); err != nil {
		return err
	}
	namespace := ob.names.namespaceName(o.Deployment)
	switch o.Kind {
	case agent.KindService:
		return ob.removeService(ctx, namespace, o)
	case agent.KindPlugin, agent.KindCopy:
		return ob.removePodOf(ctx, namespace, o, time.Second)
	case agent.KindVolume:
		return ob.removeClaim(ctx, namespace, o)
	case agent.KindRelay:
		if err := ob.removeMailPort(ctx, o.Deployment); err != nil {
			return err
		}
		return ignoreNotFound(wrapMutationErr(ob.policies.remove(ctx, namespace, admitPolicy,
			metav1.DeleteOptions{})))
	case agent.KindNetwork:
		_, err := ob.removeNamespace(ctx, o.Deployment)
		return err
	}
	return fmt.Errorf("there is no %q on Kubernetes", o.Kind)
}

// removeService removes a workload, or the pod of a job, by its id, and waits for its pods.
func (ob *objects) removeService(ctx context.Context, namespace string, o agent.Object) error {
	ob.services.forgetStep(o.Deployment, o.Step)
	err := ignoreNotFound(ob.cluster.services.remove(ctx, namespace, string(o.Step),
		metav1.DeleteOptions{}))
	if err != nil {
		return wrapMutationErr(err)
	}
	was, err := ob.removeWorkload(ctx, namespace, o.Step, types.UID(o.ID))
	switch {
	case err != nil:
		return err
	case was:
		return ob.services.awaitEnd(ctx, o.Deployment, o.Step)
	}
	// It is a job, or it is gone, and perhaps another one has its name.
	return ob.removePodOf(ctx, namespace, o, ob.config.StopGrace)
}

func (ob *objects) removeClaim(ctx context.Context, namespace string, o agent.Object) error {
	_, name, _ := strings.Cut(o.Name, "/")
	uid := types.UID(o.ID)
	err := ob.claims.remove(ctx, namespace, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}})
	if isGone(err) {
		return nil
	}
	return wrapMutationErr(err)
}

func (ob *objects) removePodOf(
	ctx context.Context, namespace string, o agent.Object, grace time.Duration,
) error {
	pods, err := ob.pods.list(ctx, namespace, ob.names.ownSelector())
	if err != nil {
		return wrapQueryErr(err)
	}
	for _, p := range pods {
		if string(p.UID) == o.ID {
			return ob.removePod(ctx, &p, grace)
		}
	}
	return nil
}

// RemoveDeployment removes the namespace and everything in it. All pods get their grace periods at
// the same time. What is left after that is returned, with the cluster's reason.
func (ob *objects) RemoveDeployment(ctx context.Context, deployment string) ([]agent.Object,
	error) {
	if err := ob.names.checkNames(deployment); err != nil {
		return nil, err
	}
	left, err := ob.removeNamespace(ctx, deployment)
	if err != nil {
		return left, fmt.Errorf("remove deployment %s: %w", deployment, err)
	}
	return left, nil
}

func (ob *objects) removeNamespace(ctx context.Context, deployment string) ([]agent.Object, error) {
	name := ob.names.namespaceName(deployment)
	ob.plugins.forgetDeployment(name)
	ob.services.forgetStep(deployment, "")
	limit := ob.longestGrace(ctx, name) + removeTime
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for look := (throttle{pause: lostLook}); ; {
		there, err := ob.namespaces.get(limited, "", name)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err == nil && there.Labels[labelInstall] != ob.names.install:
			return nil, nil // somebody else's
		case err == nil && there.DeletionTimestamp == nil:
			err = ignoreNotFound(ob.namespaces.remove(limited, "", name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &there.UID}}))
		case err == nil && look.isDue():
			ob.removeLostIn(limited, name)
		}
		if wait.Sleep(limited, statePause) == nil {
			continue
		}
		if err == nil {
			err = stuckError(there, limit)
		}
		// The context has ended, and the question what is left gets one of its own.
		asked, done := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer done()
		left, listErr := ob.listObjects(asked, name)
		if listErr != nil {
			err = wrapMutationErr(err)
		}
		return left, err
	}
}

func stuckError(n *corev1.Namespace, after time.Duration) error {
	return fmt.Errorf("the namespace %s is stuck: it has not ended within %s%s", n.Name,
		quantity.FormatDuration(after.Round(time.Second)), explainTermination(n))
}

// longestGrace is that of the deployment's pods.
func (ob *objects) longestGrace(ctx context.Context, namespace string) (longest time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	pods, err := ob.pods.list(ctx, namespace, ob.names.ownSelector())
	if err != nil {
		return defaultGrace
	}
	for _, p := range pods {
		longest = max(longest, graceOf(&p))
	}
	return longest
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

var _ agent.MailCatcher = (*Kubernetes)(nil)

const (
	// mailPolicy is there as long as a deployment is to have a mail port: what it admits is made
	// after it, and removed before it.
	mailPolicy = "nullops-mail"
	// mailNetwork is the value of labelNetwork for the pod that takes mails. It opens no connection.
	mailNetwork = "mail"
	// mailAgentPort is where the agent asks that pod for connections.
	mailAgentPort = 1026
	// mailStart is how long the pod may take until the agent reaches it: the helper's image may have
	// to be pulled.
	mailStart = 3 * time.Minute
)

// mailPorts gives each deployment a pod that takes its mails, and passes its connections to the
// agent. The agent dials it as it dials services, so that an agent needs no port of its own, and no
// address can make one deployment's mail another's.
type mailPorts struct {
	*base
	namespaces *namespaces
	services   *services
	mu         sync.Mutex
	// known are the pods of deployments, as they were last. A pod proves that it is the one, so that
	// an old address does no harm.
	known map[string]sidecar.MailPod
}

// Prepare makes the deployment's namespace and its network policies. One that had a mail port
// loses it, since a step may want the name.
func (mp *mailPorts) Prepare(ctx context.Context, deployment string) error {
	err := mp.namespaces.prepareNamespace(ctx, deployment)
	if err == nil {
		mp.forgetMailPod(deployment)
		err = mp.removeMailPort(ctx, deployment)
	}
	return prepareError(deployment, err)
}

// PrepareWithMail is Prepare for a deployment whose mails come to the agent.
func (mp *mailPorts) PrepareWithMail(ctx context.Context, deployment string) error {
	err := mp.namespaces.prepareNamespace(ctx, deployment)
	if err == nil {
		if err = mp.ensureMailPort(ctx, deployment); err != nil {
			err = fmt.Errorf("the port for its mails: %w", err)
		}
	}
	return prepareError(deployment, err)
}

func prepareError(deployment string, err error) error {
	if err != nil {
		return fmt.Errorf("prepare deployment %s: %w", deployment, err)
	}
	return nil
}

func (mp *mailPorts) ensureMailPort(ctx context.Context, deployment string) error {
	s := mp.namespaces.deploymentSpace(deployment)
	if err := mp.namespaces.ensurePolicy(ctx, s, mailPolicy, mp.policySpec()); err != nil {
		return fmt.Errorf("network policy %s: %w", mailPolicy, err)
	}
	if err := mp.ensureMailWorkload(ctx, deployment); err != nil {
		return err
	}
	return mp.awaitMailPod(ctx, deployment)
}

// policySpec lets the deployment send mails, and the agent fetch them.
func (mp *mailPorts) policySpec() networkingv1.NetworkPolicySpec {
	port := func(n int32) []networkingv1.NetworkPolicyPort {
		return []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP),
			Port: new(intstr.FromInt32(n))}}
	}
	spec := networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{labelNetwork: mailNetwork}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress,
			networkingv1.PolicyTypeEgress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: port(agent.MailPort),
			From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
	}
	// No peer would mean everybody.
	if peers := mp.namespaces.agentPeers(); len(peers) > 0 {
		spec.Ingress = append(spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			Ports: port(mailAgentPort), From: peers})
	}
	return spec
}

// ensureMailWorkload makes the Service and the Deployment behind it. Both have the name that
// applications use: no step has it, or there would be no mail port.
func (mp *mailPorts) ensureMailWorkload(ctx context.Context, deployment string) error {
	wanted, err := mp.newMailWorkload(deployment)
	if err != nil {
		return err
	}
	err = retry.RetryOnConflict(conflictBackOff, func() error {
		there, err := mp.findMailWorkload(ctx, deployment)
		switch {
		case err != nil:
			return err
		case there == nil:
			return mp.createMailWorkload(ctx, wanted)
		case there.Labels[labelSpec] == wanted.Labels[labelSpec] && there.replicas == 1:
			return nil
		}
		asked, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		return mp.updateWorkload(asked, *there, wanted)
	})
	return explainNamespace(wrapMutationErr(err))
}

// createMailWorkload makes the Service anew, which may be a step's from before: the agent's account
// may not read Services. A quota from before has no room for the pod, and is made again with
// LimitDeployment.
func (mp *mailPorts) createMailWorkload(ctx context.Context, w workload) error {
	if err := mp.namespaces.removeLimit(ctx, w.Namespace); err != nil {
		return err
	}
	// What the cluster refuses would otherwise only show in a pod that never comes.
	err := mp.tryPod(ctx, &corev1.Pod{Spec: *w.template.Spec.DeepCopy(),
		ObjectMeta: metav1.ObjectMeta{Name: agent.MailHost, Namespace: w.Namespace,
			Labels: w.template.Labels}})
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = mp.cluster.services.remove(asked, w.Namespace, w.Name, metav1.DeleteOptions{})
	if ignoreNotFound(err) != nil {
		return err
	}
	_, err = mp.cluster.services.create(asked, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace, Labels: w.Labels},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
			Selector: w.selector}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return mp.createWorkload(asked, w)
}

// findMailWorkload returns the workload that takes mails, or nil. A step's that has the name, from
// before the pipeline was changed, is removed.
func (mp *mailPorts) findMailWorkload(ctx context.Context, deployment string) (*workload, error) {
	namespace := mp.names.namespaceName(deployment)
	there, err := mp.workloadOf(ctx, namespace, agent.MailHost)
	if err != nil || there == nil || isMailWorkload(there) {
		return there, err
	}
	if _, err := mp.removeWorkload(ctx, namespace, agent.MailHost, there.UID); err != nil {
		return nil, err
	}
	return nil, mp.services.awaitEnd(ctx, deployment, agent.MailHost)
}

// newMailWorkload describes the pod that takes mails: our helper, with the pod's own id for a key,
// which no other pod is told.
func (mp *mailPorts) newMailWorkload(deployment string) (w workload, err error) {
	pod := mp.newPodSpec(time.Second)
	pod.Containers = []corev1.Container{{
		Name: mainContainer, Image: mp.config.Helper, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{helperSource, "mail", strconv.Itoa(agent.MailPort),
			strconv.Itoa(mailAgentPort)},
		Env: []corev1.EnvVar{{Name: sidecar.MailKeyVariable, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}}}},
		SecurityContext: restrictedContext(unprivilegedUser),
		Resources: resourceLimits(pipeline.Resources{CPU: helperCPU, MemoryMiB: helperMemoryMiB},
			true),
	}}
	spec, err := hashParts(pod)
	if err != nil {
		return w, err
	}
	template := corev1.PodTemplateSpec{Spec: pod, ObjectMeta: metav1.ObjectMeta{
		Labels: mp.podLabels(agent.KindRelay, deployment, "", "", spec, false)}}
	template.Labels[labelNetwork] = mailNetwork
	return workload{replicas: 1, template: template,
		selector: map[string]string{labelInstall: mp.names.install,
			labelKind: string(agent.KindRelay), labelNetwork: mailNetwork},
		ObjectMeta: metav1.ObjectMeta{Name: agent.MailHost,
			Namespace: mp.names.namespaceName(deployment),
			Labels:    mp.names.objectLabels(agent.KindRelay, deployment, "", "", spec)}}, nil
}

// awaitMailPod waits until the agent reaches the pod, so that the first step's mails are taken.
func (mp *mailPorts) awaitMailPod(ctx context.Context, deployment string) error {
	limited, cancel := context.WithTimeout(ctx, mailStart)
	defer cancel()
	for {
		pod, err := mp.findMailPod(limited, deployment)
		if err == nil {
			var conn net.Conn
			if conn, err = pod.Dial(limited); err == nil {
				return conn.Close()
			}
			mp.forgetMailPod(deployment)
		}
		if wait.Sleep(limited, statePause) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("it does not answer after %s: %w; without a port for mails "+
				"(agent.mails.deployment: 0), deployments need no pod for it", mailStart, err)
		}
	}
}

// AcceptMail waits for the next connection to the deployment's mail port.
func (mp *mailPorts) AcceptMail(ctx context.Context, deployment string) (net.Conn, error) {
	if err := mp.names.checkNames(deployment); err != nil {
		return nil, err
	}
	pod, err := mp.findMailPod(ctx, deployment)
	if err == nil {
		var conn net.Conn
		if conn, err = pod.Accept(ctx); err == nil {
			return conn, nil
		}
		mp.forgetMailPod(deployment)
	}
	if errors.Is(err, agent.ErrNoMailPort) {
		return nil, err
	}
	return nil, fmt.Errorf("mails of deployment %s: %w", deployment, err)
}

// findMailPod asks the cluster only for a pod that is not known: an application that opens one
// connection after another must not keep the API server busy.
func (mp *mailPorts) findMailPod(
	ctx context.Context, deployment string,
) (sidecar.MailPod, error) {
	mp.mu.Lock()
	known, ok := mp.known[deployment]
	mp.mu.Unlock()
	if ok {
		return known, nil
	}
	pod, err := mp.currentMailPod(ctx, deployment)
	switch {
	case err != nil:
		return sidecar.MailPod{}, err
	case !isRunning(pod) || pod.Status.PodIP == "":
		return sidecar.MailPod{}, fmt.Errorf("its pod does not run: %s", describePod(pod))
	}
	found := sidecar.MailPod{Key: string(pod.UID),
		Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(mailAgentPort))}
	mp.mu.Lock()
	mp.known[deployment] = found
	mp.mu.Unlock()
	return found, nil
}

func (mp *mailPorts) forgetMailPod(deployment string) {
	mp.mu.Lock()
	defer mp.mu.Unlock()
	delete(mp.known, deployment)
}

// currentMailPod returns the newest pod that takes the deployment's mails.
func (mp *mailPorts) currentMailPod(
	ctx context.Context, deployment string,
) (newest *corev1.Pod, err error) {
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	namespace := mp.names.namespaceName(deployment)
	pods, err := mp.pods.list(asked, namespace, mp.names.ownSelector()+","+labelNetwork+"="+
		mailNetwork)
	if err != nil {
		return nil, wrapQueryErr(err)
	}
	for i := range pods {
		if p := &pods[i]; p.DeletionTimestamp == nil && (newest == nil || isNewer(p, newest)) {
			newest = p
		}
	}
	if newest != nil {
		return newest, nil
	}
	return nil, mp.explainNoPod(asked, namespace)
}

// explainNoPod tells a deployment without a mail port from one whose pod is not there now.
func (mp *mailPorts) explainNoPod(ctx context.Context, namespace string) error {
	switch _, err := mp.policies.get(ctx, namespace, mailPolicy); {
	case err == nil:
		return errNoPod
	case !apierrors.IsNotFound(err):
		return wrapQueryErr(err)
	}
	if _, err := mp.cluster.namespaces.get(ctx, "", namespace); err != nil {
		return wrapQueryErr(err)
	}
	return agent.ErrNoMailPort
}

// removeMailPort removes what ensureMailPort made. The policy, which says that there is a port,
// goes last.
func (b *base) removeMailPort(ctx context.Context, deployment string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	has, err := b.hasMailPort(ctx, deployment)
	if err != nil || !has {
		return err
	}
	namespace := b.names.namespaceName(deployment)
	there, err := b.workloadOf(ctx, namespace, agent.MailHost)
	if err != nil {
		return err
	}
	if there == nil || isMailWorkload(there) {
		err = ignoreNotFound(b.cluster.services.remove(ctx, namespace, agent.MailHost,
			metav1.DeleteOptions{}))
	}
	if err == nil && there != nil && isMailWorkload(there) {
		_, err = b.removeWorkload(ctx, namespace, agent.MailHost, there.UID)
	}
	if err == nil {
		err = ignoreNotFound(b.policies.remove(ctx, namespace, mailPolicy, metav1.DeleteOptions{}))
	}
	return wrapMutationErr(err)
}

// hasMailPort reports whether a deployment is to have a mail port.
func (b *base) hasMailPort(ctx context.Context, deployment string) (bool, error) {
	_, err := b.policies.get(ctx, b.names.namespaceName(deployment), mailPolicy)
	return err == nil, wrapQueryErr(ignoreNotFound(err))
}

// isMailWorkload reports whether a workload takes a deployment's mails.
func isMailWorkload(w *workload) bool { return w.Labels[labelKind] == string(agent.KindRelay) }

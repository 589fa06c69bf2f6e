package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
)

// namespaces makes the namespaces of deployments.
type namespaces struct {
	*base
	rights *rights
}

// prepareNamespace makes the deployment's namespace and its network policies.
func (ns *namespaces) prepareNamespace(ctx context.Context, deployment string) error {
	err := ns.names.checkNames(deployment)
	if err == nil {
		err = ns.rights.ensureRights(ctx)
	}
	if err == nil {
		err = ns.ensureSpace(ctx, ns.deploymentSpace(deployment))
	}
	return err
}

// space is a namespace of ours: that of a deployment, or of a probe.
type space struct {
	name string
	// mark is the label that says whose it is.
	mark, value string
	labels      func(agent.ObjectKind) map[string]string
}

func (ns *namespaces) deploymentSpace(deployment string) space {
	return space{name: ns.names.namespaceName(deployment), mark: labelDeployment, value: deployment,
		labels: func(kind agent.ObjectKind) map[string]string {
			return ns.names.objectLabels(kind, deployment, "", "", "")
		}}
}

// ensureSpace makes a namespace, its network policies, and what the helper is pulled with.
func (ns *namespaces) ensureSpace(ctx context.Context, s space) error {
	if err := ns.ensureNamespace(ctx, s); err != nil {
		return err
	}
	if err := ns.ensurePolicies(ctx, s); err != nil {
		return err
	}
	return ns.ensureHelperSecret(ctx, s)
}

func (ns *namespaces) ensureNamespace(ctx context.Context, s space) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	labels := s.labels(agent.KindNetwork)
	// Plugins keep to "restricted", services to the capabilities that they have on Docker.
	labels["pod-security.kubernetes.io/enforce"] = "baseline"
	_, err := ns.cluster.namespaces.create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: labels}})
	if !apierrors.IsAlreadyExists(err) {
		return wrapMutationErr(err)
	}
	there, err := ns.cluster.namespaces.get(ctx, "", s.name)
	if err != nil {
		return wrapQueryErr(err)
	}
	ours := there.Labels[s.mark] == s.value && there.Labels[labelInstall] == labels[labelInstall]
	switch {
	case !ours:
		return fmt.Errorf("the namespace %s exists and is not ours (its label %s is %q): remove "+
			"it, or set another "+
			"agent.kubernetes.prefix", s.name, labelInstall, there.Labels[labelInstall])
	case there.DeletionTimestamp != nil:
		return fmt.Errorf("the namespace %s is still being removed%s", s.name,
			explainTermination(there))
	}
	return nil
}

// explainTermination says what keeps a namespace from ending, in the cluster's words.
func explainTermination(n *corev1.Namespace) string {
	var reasons []string
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			reasons = append(reasons, c.Message)
		}
	}
	if len(n.Finalizers) > 0 {
		reasons = append(reasons, "finalizers of the namespace: "+strings.Join(n.Finalizers, ", "))
	}
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons, "; ")
}

// The policies of a namespace. The second one is what the contract calls the relay: without it,
// the agent does not reach the services.
const (
	denyPolicy  = "nullops-deny"
	admitPolicy = "nullops-admit"
)

func (ns *namespaces) ensurePolicies(ctx context.Context, s space) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	both := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	machines, err := ns.machines.list(ctx, "", "")
	if err != nil {
		return wrapQueryErr(err)
	}
	servers, err := ns.apiServers(ctx)
	if err != nil {
		return err
	}
	specs := map[string]networkingv1.NetworkPolicySpec{
		denyPolicy: {PolicyTypes: both},
		admitPolicy: {
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{labelNetwork: "yes"}},
			PolicyTypes: both,
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: append(ns.agentPeers(), networkingv1.NetworkPolicyPeer{
					PodSelector: &metav1.LabelSelector{}})}},
			Egress: ns.egressRules(machines, servers),
		},
	}
	for _, name := range []string{denyPolicy, admitPolicy} {
		if err := ns.ensurePolicy(ctx, s, name, specs[name]); err != nil {
			return fmt.Errorf("network policy %s: %w", name, err)
		}
	}
	return nil
}

func (ns *namespaces) ensurePolicy(
	ctx context.Context, s space, name string, spec networkingv1.NetworkPolicySpec,
) error {
	kind := agent.KindNetwork
	if name == admitPolicy {
		kind = agent.KindRelay
	}
	p := &networkingv1.NetworkPolicy{Spec: spec, ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: s.name, Labels: s.labels(kind)}}
	_, err := ns.policies.create(ctx, p)
	if !apierrors.IsAlreadyExists(err) {
		return wrapMutationErr(err)
	}
	there, err := ns.policies.get(ctx, p.Namespace, name)
	if err != nil {
		return wrapQueryErr(err)
	}
	if reflect.DeepEqual(there.Spec, spec) && maps.Equal(there.Labels, p.Labels) {
		return nil
	}
	there.Spec, there.Labels = spec, p.Labels
	_, err = ns.policies.update(ctx, there)
	return wrapMutationErr(err)
}

package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// right is one thing that the agent's account may have to do: in all namespaces, since it makes
// them, or in one.
type right struct{ group, resource, subresource, verb, namespace string }

func (r right) String() string {
	name := r.resource
	if r.subresource != "" {
		name += "/" + r.subresource
	}
	if r.group != "" {
		name += "." + r.group
	}
	if r.namespace != "" {
		name += " in the namespace " + r.namespace
	}
	return r.verb + " " + name
}

// neededRights are all that the package uses. docs/kubernetes.md says why.
func (c Config) neededRights() (all []right) {
	for _, one := range []struct{ group, resource, subresource, verbs string }{
		{"", "namespaces", "", "get list create delete"},
		{"", "nodes", "", "list"},
		{"", "pods", "", "get list watch create patch delete"},
		{"", "pods", "exec", "get create"},
		{"", "pods", "log", "get"},
		{"", "services", "", "create delete"},
		{"", "resourcequotas", "", "get create update delete"},
		{"", "limitranges", "", "get create update delete"},
		{"", "persistentvolumeclaims", "", "get list create delete"},
		{"", "secrets", "", "create update delete"},
		{"", "events", "", "list"},
		{"apps", "deployments", "", "get list create update patch delete"},
		{"apps", "statefulsets", "", "get list create update patch delete"},
		{"storage.k8s.io", "storageclasses", "", "list"},
		{"networking.k8s.io", "networkpolicies", "", "get list create update delete"},
		{"metrics.k8s.io", "nodes", "", "list"},
		{"metrics.k8s.io", "pods", "", "list"},
	} {
		for verb := range strings.FieldsSeq(one.verbs) {
			all = append(all, right{one.group, one.resource, one.subresource, verb, ""})
		}
	}
	all = append(all, right{"discovery.k8s.io", "endpointslices", "", "list", "default"})
	if c.AgentNamespace != "" && c.Lost != nil {
		for _, verb := range []string{"get", "create", "update", "delete"} {
			all = append(all, right{"coordination.k8s.io", "leases", "", verb, c.AgentNamespace})
		}
	}
	return all
}

// rights asks what the agent's account may do.
type rights struct {
	*base
	complete atomic.Bool
}

// ensureRights fails unless every right is there, in the right cluster. Nothing is created before
// it has succeeded once.
func (r *rights) ensureRights(ctx context.Context) error {
	if r.complete.Load() {
		return nil
	}
	missing, err := r.findMissing(ctx)
	if err != nil {
		return fmt.Errorf("ask what the agent may do in the cluster: %w", err)
	}
	if len(missing) > 0 {
		return missingRightsError(missing)
	}
	if err := r.checkCluster(ctx); err != nil {
		return err
	}
	r.complete.Store(true)
	return nil
}

func (r *rights) findMissing(ctx context.Context) (missing []right, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	for _, need := range r.config.neededRights() {
		review, err := r.reviews.create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: need.verb,
					Namespace: need.namespace,
					Group:     need.group, Resource: need.resource, Subresource: need.subresource}}})
		if err != nil {
			return nil, wrapQueryErr(err)
		}
		if !review.Status.Allowed {
			missing = append(missing, need)
		}
	}
	return missing, nil
}

func missingRightsError(missing []right) error {
	names := make([]string, len(missing))
	for i, m := range missing {
		names[i] = m.String()
	}
	return fmt.Errorf("the agent's account lacks %d of its rights in the cluster, and nothing was "+
		"created: %s; grant them with a ClusterRole, see docs/kubernetes.md", len(missing),
		strings.Join(names, ", "))
}

package kubernetes

import (
	"context"
	"fmt"
)

// homeNamespace is in every cluster, and is never made anew in one: its id stands for the cluster.
const homeNamespace = "kube-system"

// checkCluster lets the configuration refuse a cluster that is another one than before.
func (r *rights) checkCluster(ctx context.Context) error {
	if r.config.CheckCluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	home, err := r.cluster.namespaces.get(ctx, "", homeNamespace)
	if err != nil {
		return fmt.Errorf("ask which cluster this is: %w", wrapQueryErr(err))
	}
	return r.config.CheckCluster(string(home.UID))
}

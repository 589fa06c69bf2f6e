package server

import (
	"context"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

// mostChanged is how many deployments are read one by one: for more, reading all costs no more.
const mostChanged = 1000

// routeCache is what was last read of the routes. A wake-up costs what it is about, and not
// ten thousand deployments.
type routeCache struct {
	lifecycle *lifecycle.Lifecycle
	// deployments and nodes collect the ids whose routes may have changed.
	deployments, nodes *postgres.Subscription
	all                []controlplane.Route
	known              bool
}

// refresh reads what may have changed, or everything, and reports whether anything did
// change. A change without a notification shows when everything is read.
func (b *routeCache) refresh(ctx context.Context, everything bool) (changed bool, err error) {
	ids, allDeployments := b.deployments.TakeKeys()
	nodes, allNodes := b.nodes.TakeKeys()
	everything = everything || allDeployments || allNodes || !b.known
	// Until it has been read, it is not known.
	b.known = false
	if everything || len(ids)+len(nodes) > mostChanged {
		return b.readAll(ctx)
	}
	changed, err = b.readSome(ctx, ids, nodes)
	b.known = err == nil
	return changed, err
}

func (b *routeCache) readAll(ctx context.Context) (changed bool, err error) {
	all, err := b.lifecycle.Routes(ctx, access.System("ingress"))
	if err != nil {
		return false, err
	}
	changed = !slices.Equal(all, b.all)
	b.all, b.known = all, true
	return changed, nil
}

func (b *routeCache) readSome(ctx context.Context, ids, nodes []string) (bool, error) {
	if len(ids)+len(nodes) == 0 {
		return false, nil
	}
	of, read, err := b.lifecycle.RoutesOf(ctx, access.System("ingress"), ids, nodes)
	if err != nil {
		return false, err
	}
	return b.replaceRoutes(of, read), nil
}

// replaceRoutes replaces the routes of some deployments by those that were read. A
// host that one of them took over is removed from its former deployment.
func (b *routeCache) replaceRoutes(of []controlplane.DeploymentID, read []controlplane.Route) bool {
	theirs, hosts := map[controlplane.DeploymentID]bool{}, map[string]bool{}
	for _, id := range of {
		theirs[id] = true
	}
	for _, r := range read {
		hosts[r.Host] = true
	}
	stale := func(r controlplane.Route) bool { return theirs[r.Deployment] || hosts[r.Host] }
	var before []controlplane.Route
	for _, r := range b.all {
		if stale(r) {
			before = append(before, r)
		}
	}
	if slices.Equal(before, read) {
		return false
	}
	b.all = append(slices.DeleteFunc(b.all, stale), read...)
	slices.SortFunc(b.all, func(x, y controlplane.Route) int {
		return strings.Compare(x.Host, y.Host)
	})
	return true
}

package lifecycle

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// mostRemembered times some three kilobytes is what memory takes.
const mostRemembered = 4096

// cachedDeployment is what was read of a deployment. It is shared and must not be
// changed.
type cachedDeployment struct {
	deployment controlplane.Deployment
	hosts      []controlplane.Host
	expires    time.Time
	life       controlplane.LifetimeInfo
	// state is of which version of its rows it was made.
	state string
}

// deploymentCache saves lists from reading unchanged deployments again. What it
// returns is never older than the caller's transaction, because the rows' versions are
// queried each time.
type deploymentCache struct {
	all *lru.Cache[controlplane.DeploymentID, cachedDeployment]
}

func newMemory() deploymentCache {
	// Only a size below one is an error.
	all, _ := lru.New[controlplane.DeploymentID, cachedDeployment](mostRemembered)
	return deploymentCache{all: all}
}

// loadDeployments returns those of the ids that still exist, in that order.
func (m deploymentCache) loadDeployments(
	ctx context.Context, tx *postgres.Tx, ids []controlplane.DeploymentID,
) ([]cachedDeployment, error) {
	states, err := tx.Deployments().ListStates(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[controlplane.DeploymentID]cachedDeployment, len(ids))
	var missing []controlplane.DeploymentID
	for _, id := range ids {
		if k, ok := m.all.Get(id); ok && k.state == states[id] {
			found[id] = k
		} else {
			missing = append(missing, id)
		}
	}
	if err := m.readMissing(ctx, tx, missing, states, found); err != nil {
		return nil, err
	}
	all := make([]cachedDeployment, 0, len(ids))
	for _, id := range ids {
		if k, ok := found[id]; ok {
			all = append(all, k)
		}
	}
	return all, nil
}

func (m deploymentCache) readMissing(
	ctx context.Context,
	tx *postgres.Tx,
	ids []controlplane.DeploymentID,
	states map[controlplane.DeploymentID]string,
	into map[controlplane.DeploymentID]cachedDeployment,
) error {
	rows, err := tx.Deployments().ListExisting(ctx, ids)
	if err != nil {
		return err
	}
	fresh, err := readKnown(ctx, tx, rows)
	for _, k := range fresh {
		k.state = states[k.deployment.ID]
		into[k.deployment.ID] = k
		m.all.Add(k.deployment.ID, k)
	}
	return err
}

// readKnown adds what belongs to the deployments and changes with their states
// only.
func readKnown(
	ctx context.Context, tx *postgres.Tx, rows []controlplane.Deployment,
) ([]cachedDeployment, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]controlplane.DeploymentID, len(rows))
	for i, d := range rows {
		ids[i] = d.ID
	}
	hosts, err := tx.Hosts().ListOf(ctx, ids...)
	if err != nil {
		return nil, err
	}
	expiries, err := tx.Lifetimes().ListExpiryTimes(ctx, ids...)
	if err != nil {
		return nil, err
	}
	lives, err := tx.Lifetimes().ListOf(ctx, ids...)
	if err != nil {
		return nil, err
	}
	all := make([]cachedDeployment, len(rows))
	for i, d := range rows {
		all[i] = cachedDeployment{deployment: d, hosts: hosts[d.ID], expires: expiries[d.ID],
			life: lives[d.ID]}
	}
	return all, nil
}

package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/usage"
)

const (
	// ledgerEvery is how old an event gets before the usage ledger has it. Balances count open
	// intervals up to now, so nobody waits for it.
	ledgerEvery = 15 * time.Second
	// budgetsEvery is short beside the hours that budgets are written in.
	budgetsEvery = time.Minute
	// volumesEvery is rare: measuring reads every folder of a volume.
	volumesEvery = 6 * time.Hour
)

// WriteLedger keeps the usage ledger.
func WriteLedger(u *usage.Usage, log *slog.Logger) Job {
	return Job{Name: "write_usage_ledger", Every: ledgerEvery, Do: func(ctx context.Context) error {
		set, err := u.WriteLedger(ctx, access.System("usage-ledger"))
		if set != 0 {
			log.ErrorContext(ctx, "the database's clock was set: the usage ledger counts the "+
				"difference for nobody", "skew", set)
		}
		return err
	}}
}

// CheckBudgets gives notices of budgets, and removes deployments where an admin chose that.
func CheckBudgets(u *usage.Usage, deployments *lifecycle.Lifecycle, log *slog.Logger) Job {
	system := access.System("budget")
	return Job{Name: "check_budgets", Every: budgetsEvery, Do: func(ctx context.Context) error {
		ids, err := u.CheckBudgets(ctx, system)
		for _, id := range ids {
			d, removing := deployments.Remove(ctx, system, id)
			if removing != nil {
				err = errors.Join(err, fmt.Errorf("remove deployment %s: %w", id, removing))
				continue
			}
			log.InfoContext(ctx, "a deployment is removed, since its budget is used up",
				"deployment_id", id, "deployment", d.Name)
		}
		return err
	}}
}

// MeasureVolumes notes in the usage ledger what volumes take. A node that is away is measured
// the next time; until then the last measurement counts.
func MeasureVolumes(
	u *usage.Usage, deployments *lifecycle.Lifecycle, volumes Volumes, log *slog.Logger,
) Job {
	system := access.System("measure-volumes")
	return Job{Name: "measure_volumes", Every: volumesEvery, Do: func(ctx context.Context) error {
		all, err := deployments.ListVolumes(ctx, system, lifecycle.VolumeSelection{})
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.NodeID == "" || d.NodeStatus != controlplane.NodeOnline {
				continue
			}
			state, err := volumes.Volumes(ctx, d.NodeID, d.ID, true)
			if err != nil {
				log.DebugContext(ctx, "volumes could not be measured", "deployment_id", d.ID,
					"error", err)
				continue
			}
			if err := u.RecordVolumes(ctx, system, d.ID, state.Bytes); err != nil {
				return err
			}
		}
		return nil
	}}
}

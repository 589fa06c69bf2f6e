package lifecycle

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// RelocationMeasured stops the services where they are, if there is room for what is
// in their volumes where they go.
func (l *Lifecycle) RelocationMeasured(
	ctx context.Context, actor access.Actor, j controlplane.RelocationTask,
) error {
	return l.withRelocation(ctx, actor, j.RelocationAttempt,
		func(tx *postgres.Tx, d controlplane.Deployment, r *controlplane.Relocation) error {
			if r == nil || r.Phase != controlplane.Measuring {
				return errCalledOff
			}
			room, err := roomFor(ctx, tx, *r)
			if err != nil {
				return err
			}
			if room < j.Bytes {
				return noRoomFor(*r, "its volumes hold "+quantity.FormatBytes(j.Bytes), room)
			}
			r.Phase, r.Bytes = controlplane.Copying, j.Bytes
			return advanceRelocation(ctx, tx, d, controlplane.Measuring, *r,
				"stops, to take its volumes to node "+r.Node)
		})
}

// ReserveMoreRoom returns how many bytes a copy may take that has exceeded the measured
// size: an archive of many small files is larger than the files. It fails if the node
// has no room for that.
func (l *Lifecycle) ReserveMoreRoom(
	ctx context.Context, actor access.Actor, a controlplane.RelocationAttempt, done int64,
) (bytes int64, err error) {
	err = l.withRelocation(ctx, actor, a,
		func(tx *postgres.Tx, _ controlplane.Deployment, r *controlplane.Relocation) error {
			if r == nil || r.Phase != controlplane.Copying {
				return errCalledOff
			}
			room, err := roomFor(ctx, tx, *r)
			if err != nil {
				return err
			}
			// Count as if nothing had been written, since the node's figures may be old.
			// Doubling keeps the number of queries small.
			measured := r.Bytes
			if r.Bytes = 2 * done; room < r.Bytes {
				return noRoomFor(*r, fmt.Sprintf("its volumes take more than the %s that were measured",
					quantity.FormatBytes(measured)), room)
			}
			bytes = r.Bytes
			wanted, err := tx.Relocations().ReserveRoom(ctx, *r)
			if err == nil && !wanted {
				err = errCalledOff
			}
			return err
		})
	return bytes, err
}

// roomFor is how many bytes a relocation may write on its target: free disk above the
// floor, minus what is reserved for others. The locks keep others from reserving it
// until the transaction ends.
func roomFor(
	ctx context.Context, tx *postgres.Tx, r controlplane.Relocation,
) (int64, error) {
	promised, err := tx.Relocations().LockReservedRoom(ctx, r)
	if err != nil {
		return 0, err
	}
	n, err := tx.Nodes().ByID(ctx, r.NodeID)
	if err != nil {
		return 0, err
	}
	to := newCandidate(postgres.PlacementNode{Node: n})
	return max(0, to.DiskFree-diskFloor(to)-promised), nil
}

func noRoomFor(r controlplane.Relocation, need string, room int64) error {
	return &controlplane.Error{Kind: controlplane.Exhausted, Code: "no_room",
		Message: fmt.Sprintf("%s, and node %s has room for %s", need, r.Node, quantity.FormatBytes(room))}
}

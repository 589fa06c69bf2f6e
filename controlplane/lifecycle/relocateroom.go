package lifecycle

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// RelocationMeasured stops the services where they are, if there is room for what is
// in their volumes where they go.
func (l *Lifecycle) RelocationMeasured(
	ctx context.Context, actor access.Actor, j controlplane.Journey,
) error {
	return l.relocating(ctx, actor, j.Attempt,
		func(tx *postgres.Tx, d controlplane.Deployment, r *controlplane.Relocation) error {
			if r == nil || r.Phase != controlplane.Measuring {
				return errCalledOff
			}
			room, err := roomFor(ctx, tx, *r)
			if err != nil {
				return err
			}
			if room < j.Bytes {
				return noRoomFor(*r, "its volumes hold "+size(j.Bytes), room)
			}
			r.Phase, r.Bytes = controlplane.Copying, j.Bytes
			return advance(ctx, tx, d, controlplane.Measuring, *r,
				"stops, to take its volumes to node "+r.Node)
		})
}

// RelocationGrew gives how many bytes a copy may take that has come to done, which is
// more than was measured: the stream of many small files is larger than they are. It
// is an error if the node has no room for that.
func (l *Lifecycle) RelocationGrew(
	ctx context.Context, actor access.Actor, a controlplane.Attempt, done int64,
) (bytes int64, err error) {
	err = l.relocating(ctx, actor, a,
		func(tx *postgres.Tx, _ controlplane.Deployment, r *controlplane.Relocation) error {
			if r == nil || r.Phase != controlplane.Copying {
				return errCalledOff
			}
			room, err := roomFor(ctx, tx, *r)
			if err != nil {
				return err
			}
			// As if nothing were written yet: the node's figures may be old. Twice as much
			// each time keeps the questions few.
			measured := r.Bytes
			if r.Bytes = 2 * done; room < r.Bytes {
				return noRoomFor(*r, fmt.Sprintf("its volumes take more than the %s that were measured",
					size(measured)), room)
			}
			bytes = r.Bytes
			wanted, err := tx.PromiseRoom(ctx, *r)
			if err == nil && !wanted {
				err = errCalledOff
			}
			return err
		})
	return bytes, err
}

// roomFor is how many bytes a relocation may write where it goes: the free disk above
// the floor, without what is promised to others. Until the transaction ends nobody
// else is promised any of it.
func roomFor(
	ctx context.Context, tx *postgres.Tx, r controlplane.Relocation,
) (int64, error) {
	promised, err := tx.HoldRoom(ctx, r)
	if err != nil {
		return 0, err
	}
	n, err := tx.NodeByID(ctx, r.NodeID)
	if err != nil {
		return 0, err
	}
	to := candidate(postgres.PlacementNode{Node: n})
	return max(0, to.DiskFree-diskFloor(to)-promised), nil
}

func noRoomFor(r controlplane.Relocation, need string, room int64) error {
	return &controlplane.Error{Kind: controlplane.Exhausted, Code: "no_room",
		Message: fmt.Sprintf("%s, and node %s has room for %s", need, r.Node, size(room))}
}

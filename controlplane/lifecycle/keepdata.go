package lifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

// An update may begin with what is in the volumes of the deployment that it is prepared beside:
//
//	update:  images ─▶ waits (fill) ─────────────────▶ runs its steps ─▶ ready ─▶ takes over
//	older:   runs ──────────▶ stops (source) ─▶ is copied ─▶ stands still ─▶ was--NAME, runs
//
// The older one stands still from the copy until the switch, so that nothing that it writes is
// lost. Should anything fail before the switch, it starts again, with its own volumes, which were
// only read.

const (
	// fillStart is how long an update may take to be ready with its data, since the older
	// deployment answers nobody meanwhile.
	fillStart = 15 * time.Minute
	// codeDataOutdated refuses an update whose source has run since it was copied.
	codeDataOutdated = "data_outdated"
)

// awaitData has a new deployment wait for the data of another one, if their pipelines have volumes
// in common.
func awaitData(ctx context.Context, tx *postgres.Tx, actor access.Actor, d controlplane.Deployment,
	from controlplane.DeploymentID, p pipeline.Pipeline) error {
	older, err := tx.Deployments().Get(ctx, from)
	if err != nil {
		return err
	}
	run, err := tx.Runs().ByID(ctx, older.RunID)
	if err != nil {
		return err
	}
	if pairs, _ := pairVolumes(run.Pipeline, p); len(pairs) == 0 {
		return nil
	}
	if older.Status != controlplane.Ready || older.Goal != controlplane.GoalPresent {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: codeDataOutdated,
			Message: "deployment " + older.Name + ", whose data is to be kept, does not run",
			Remedy:  "Push again, or let the update begin with empty volumes."}
	}
	if err := tx.Lifetimes().SetDataFrom(ctx, d.ID, from); err != nil {
		return err
	}
	held, err := tx.VolumeHolds().Start(ctx, d, controlplane.VolumeHold{Deployment: d.ID,
		Purpose: controlplane.HoldForFill, By: actor.Name()}, holdSilent)
	if err == nil && !held {
		err = notHeld(ctx, tx, d)
	}
	return err
}

// awaitDataAgain does so for the next run of an update that failed: its volumes are gone.
func awaitDataAgain(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, p pipeline.Pipeline) error {
	from, err := tx.Lifetimes().GetDataFrom(ctx, d.ID)
	if err != nil || from == "" {
		return err
	}
	formers, err := tx.Lifetimes().ListFormers(ctx, d.ID)
	if err != nil || slices.ContainsFunc(formers,
		func(f postgres.FormerDeployment) bool { return f.ID == from }) {
		return err
	}
	return awaitData(ctx, tx, actor, d, from, p)
}

// volumePair is a volume of an older pipeline, and the same one of a newer pipeline.
type volumePair struct{ older, newer controlplane.VolumeName }

// pairVolumes finds the volumes that both pipelines have: of the same step and name, or shared
// under the same name.
func pairVolumes(older, newer pipeline.Pipeline) (
	pairs []volumePair, kept controlplane.KeptData) {
	has := listVolumes(newer)
	for _, v := range listVolumes(older) {
		label := string(v.Step) + "/" + v.Name
		at := slices.IndexFunc(has, func(o namedVolume) bool { return o.id == v.id })
		switch {
		case at < 0:
			kept.Dropped = append(kept.Dropped, label)
		case v.stays || has[at].stays:
			kept.Stay = append(kept.Stay, label)
		default:
			kept.Kept = append(kept.Kept, label)
			pairs = append(pairs, volumePair{older: v.VolumeName, newer: has[at].VolumeName})
		}
	}
	return pairs, kept
}

// namedVolume is a volume, and what identifies it in every version of a pipeline.
type namedVolume struct {
	controlplane.VolumeName
	id    string
	stays bool
}

func listVolumes(p pipeline.Pipeline) (all []namedVolume) {
	for _, v := range volumesToCopy(p) {
		step, _ := p.Step(v.Step)
		for _, own := range step.Container().Volumes {
			if own.Name != v.Name {
				continue
			}
			id := "step/" + string(v.Step) + "/" + v.Name
			if own.Shared != "" {
				id = "shared/" + own.Shared
			}
			all = append(all, namedVolume{VolumeName: v, id: id, stays: own.Stays})
		}
	}
	return all
}

// ListKept says which volumes of a deployment an update would begin with, if it ran the latest
// pipeline of the project.
func (l *Lifecycle) ListKept(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, project string) (kept controlplane.KeptData, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return kept, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		older, err := tx.Deployments().Get(ctx, id)
		if err != nil {
			return err
		}
		run, err := tx.Runs().ByID(ctx, older.RunID)
		if err != nil {
			return err
		}
		target, err := tx.Projects().LoadRunTarget(ctx, project)
		_, kept = pairVolumes(run.Pipeline, target.Pipeline)
		return err
	})
	return kept, err
}

// ClaimFill claims an update whose volumes have to be filled; an empty deployment means that there
// is none. The worker must call TouchFill regularly.
func (l *Lifecycle) ClaimFill(
	ctx context.Context, actor access.Actor, holder string,
) (f controlplane.FillTask, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return f, err
	}
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		f.RelocationAttempt, err = tx.VolumeHolds().ClaimFill(ctx, holder, holdSilent)
		return err
	})
	if err != nil || f.Deployment == "" {
		return f, err
	}
	a := f.RelocationAttempt
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, a.Deployment)
		if err != nil {
			return err
		}
		var source controlplane.Deployment
		if f, source, err = readFill(ctx, tx, a, d); err != nil {
			return err
		}
		if err := tx.VolumeHolds().Announce(ctx, d); err != nil {
			return err
		}
		return notifyMove(ctx, tx, d, "waits for the data of deployment "+source.Name)
	})
	if err != nil {
		return controlplane.FillTask{}, errors.Join(err,
			l.FailFill(ctx, actor, a.Deployment, "what it begins with could not be read"))
	}
	return f, nil
}

func readFill(ctx context.Context, tx *postgres.Tx, a controlplane.RelocationAttempt,
	d controlplane.Deployment) (f controlplane.FillTask, source controlplane.Deployment, err error) {
	from, err := tx.Lifetimes().GetDataFrom(ctx, d.ID)
	if err != nil {
		return f, source, err
	}
	if source, err = tx.Deployments().Get(ctx, from); err != nil {
		return f, source, err
	}
	was, err := tx.Runs().ByID(ctx, source.RunID)
	if err != nil {
		return f, source, err
	}
	now, err := tx.Runs().ByID(ctx, d.RunID)
	if err != nil {
		return f, source, err
	}
	f = controlplane.FillTask{RelocationAttempt: a, Source: source.ID, From: source.NodeID,
		To: d.NodeID}
	pairs, _ := pairVolumes(was.Pipeline, now.Pipeline)
	for _, p := range pairs {
		f.Copies = append(f.Copies, controlplane.VolumeCopy{Source: source.ID, SourceVolume: p.older,
			From: source.NodeID, RelocationAttempt: a, Volume: p.newer, To: d.NodeID})
	}
	return f, source, nil
}

// TouchFill records that a worker is active. It reports whether the update still waits for it.
func (l *Lifecycle) TouchFill(ctx context.Context, actor access.Actor, f controlplane.FillTask,
	holder string) (wanted bool, err error) {
	wanted, err = l.TouchVolumeHold(ctx, actor, f.Deployment, holder)
	if err != nil || !wanted {
		return wanted, err
	}
	_, err = l.TouchVolumeHold(ctx, actor, f.Source, string(f.Deployment))
	return wanted, err
}

// CheckFillRoom fails if the node of the update has no room for so many bytes.
func (l *Lifecycle) CheckFillRoom(ctx context.Context, actor access.Actor, f controlplane.FillTask,
	bytes int64) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Get(ctx, f.Deployment)
		if err != nil {
			return err
		}
		r := controlplane.Relocation{Deployment: d.ID, NodeID: d.NodeID, Node: d.Node}
		room, err := roomFor(ctx, tx, r)
		if err == nil && room < bytes {
			err = noRoomFor(r, "the volumes hold "+quantity.FormatBytes(bytes), room)
		}
		return err
	})
}

// StopSource has the older deployment stand still until its update has its place, or has failed.
func (l *Lifecycle) StopSource(
	ctx context.Context, actor access.Actor, f controlplane.FillTask,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	entry := actor.NewAuditEntry("stop for update", "deployment "+string(f.Source))
	return l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		older, newer, err := lockBoth(ctx, tx, f.Source, f.Deployment)
		if err != nil {
			return err
		}
		entry.Object = "deployment " + older.Name
		entry.Project, entry.Environment = older.ProjectID, older.EnvironmentID
		if newer.Goal != controlplane.GoalPresent || newer.Status != controlplane.Applying {
			return errCalledOff
		}
		if older.Status != controlplane.Ready || older.Goal != controlplane.GoalPresent {
			return wrongState(older, "stopped for its update", "Wait until it runs.")
		}
		if older.NodeStatus != controlplane.NodeOnline {
			return nodeAway(older)
		}
		return holdSource(ctx, tx, actor, older, newer)
	})
}

func holdSource(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	older, newer controlplane.Deployment) error {
	if err := notOnItsWay(ctx, tx, older); err != nil {
		return err
	}
	mine, err := isSourceOf(ctx, tx, older.ID, newer.ID)
	if err != nil || mine {
		return err // an earlier worker had it stopped
	}
	held, err := tx.VolumeHolds().Start(ctx, older, controlplane.VolumeHold{Deployment: older.ID,
		Purpose: controlplane.HoldAsSource, By: actor.Name(), Holder: string(newer.ID)}, holdSilent)
	if err == nil && !held {
		err = notHeld(ctx, tx, older)
	}
	if err != nil {
		return err
	}
	return notifyMove(ctx, tx, older, "stands still until its update has its data and its place")
}

// isSourceOf reports whether a deployment stands still for an update.
func isSourceOf(ctx context.Context, tx *postgres.Tx,
	older, newer controlplane.DeploymentID) (bool, error) {
	h, err := tx.VolumeHolds().Get(ctx, older)
	return h != nil && h.Purpose == controlplane.HoldAsSource && h.Holder == string(newer), err
}

// FinishFill starts the run of an update, now that its volumes are filled.
func (l *Lifecycle) FinishFill(ctx context.Context, actor access.Actor, f controlplane.FillTask,
	holder string) error {
	if wanted, err := l.TouchFill(ctx, actor, f, holder); err != nil || !wanted {
		return errors.Join(err, errCalledOff)
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		older, newer, err := lockBoth(ctx, tx, f.Source, f.Deployment)
		if err != nil {
			return err
		}
		still, err := isSourceOf(ctx, tx, older.ID, newer.ID)
		if err != nil {
			return err
		}
		ended, err := tx.VolumeHolds().End(ctx, newer, holder)
		if err == nil && (!still || !ended) {
			err = errCalledOff
		}
		if err != nil {
			return err
		}
		return notifyMove(ctx, tx, newer, "starts with the data of deployment "+older.Name)
	})
}

// FailFill ends the run of an update that does not get its data, or is not ready in time with it.
// The older deployment starts again by EndLostSources.
func (l *Lifecycle) FailFill(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, why string) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := tx.VolumeHolds().Delete(ctx, id); err != nil {
			return err
		}
		return undoUnderWay(ctx, tx, d, why, controlplane.Failure{Code: "data_not_kept", Message: why})
	})
}

// EndLostSources starts deployments again that stand still for an update that has failed, and gives
// up updates that are not ready in time.
func (l *Lifecycle) EndLostSources(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var ended []postgres.EndedSource
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		ended, err = tx.VolumeHolds().ListEndedSources(ctx, fillStart)
		return err
	})
	for _, e := range ended {
		if e.Late {
			one := l.FailFill(ctx, actor, e.Update, "it was not ready with the data of the deployment "+
				"that ran "+quantity.FormatDuration(fillStart)+" after that one had stopped")
			if err = errors.Join(err, one); one != nil {
				continue
			}
		}
		err = errors.Join(err, l.EndVolumeHold(ctx, actor, e.Deployment, string(e.Update),
			"runs again with its own data: its update did not take its place"))
	}
	return err
}

// handOverData has an update take over from the deployment whose data it has. It is refused if that
// one has run since it was copied: what was written then would be lost.
func handOverData(
	ctx context.Context, tx *postgres.Tx, older, newer controlplane.Deployment,
) error {
	from, err := tx.Lifetimes().GetDataFrom(ctx, newer.ID)
	if err != nil || from != older.ID || older.Status.IsGone() {
		return err
	}
	still, err := isSourceOf(ctx, tx, older.ID, newer.ID)
	if err == nil && !still {
		err = &controlplane.Error{Kind: controlplane.Conflict, Code: codeDataOutdated,
			Message: "deployment " + older.Name + " has run since its data was copied into the update",
			Remedy:  "Push again, so that it is copied once more."}
	}
	if err != nil {
		return err
	}
	if _, err := tx.VolumeHolds().End(ctx, older, string(newer.ID)); err != nil {
		return err
	}
	return tx.Lifetimes().SetDataMoved(ctx, older.ID)
}

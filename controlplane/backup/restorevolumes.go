package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// RestoreOptions choose whose volumes are restored.
type RestoreOptions struct {
	lifecycle.VolumeSelection

	// Node is where to; empty restores where the deployment is, or where there is room.
	Node string
}

// restorePlan is one deployment of the folder that the database has too.
type restorePlan struct {
	stored *storedDeployment
	id     controlplane.DeploymentID
}

// Restore writes the volumes of what was chosen, once every file is proven to be whole. The
// services start with what is restored. One deployment that fails does not stop the others.
func (c *VolumeCopier) Restore(ctx context.Context, actor access.Actor, f *Folder,
	how RestoreOptions) (results []VolumeResult, err error) {
	if err := checkAdmin(actor); err != nil {
		return nil, err
	}
	all, failed, err := c.planRestore(ctx, actor, f, how.VolumeSelection)
	if err != nil {
		return nil, fmt.Errorf("nothing was restored: %w", err)
	}
	for _, p := range all {
		some, err := c.restoreDeployment(ctx, actor, f, p, how.Node)
		results = append(results, some...)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("deployment %s: %w", p.stored.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, failed
}

// planRestore verifies everything before anything is written. Deployments whose copy was not
// finished are left out, and are in failed.
func (c *VolumeCopier) planRestore(ctx context.Context, actor access.Actor, f *Folder,
	s lifecycle.VolumeSelection) (all []restorePlan, failed, err error) {
	stored, err := f.choose(s)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range stored {
		if !d.Complete {
			failed = errors.Join(failed, fmt.Errorf("deployment %s: its copy is not complete in the "+
				"backup: it was not restored", d.Name))
			continue
		}
		for _, v := range d.Volumes {
			if err := f.verifyVolume(v); err != nil {
				return nil, nil, fmt.Errorf("deployment %s: %s: %w", d.Name, describeVolume(v.name()), err)
			}
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
		}
		if err := c.matchVolumes(ctx, actor, d); err != nil {
			return nil, nil, err
		}
		all = append(all, restorePlan{stored: d, id: d.ID})
	}
	return all, failed, nil
}

// matchVolumes checks that the database has the deployment, with the same volumes.
func (c *VolumeCopier) matchVolumes(
	ctx context.Context, actor access.Actor, d *storedDeployment,
) error {
	found, err := c.Deployments.ListVolumes(ctx, actor,
		lifecycle.VolumeSelection{Deployments: []string{string(d.ID)}})
	if controlplane.KindOf(err) == controlplane.NotFound {
		return fmt.Errorf("the database has no deployment %s (%s), or it was removed: restore the "+
			"database of the same backup first, or choose other deployments", d.Name, d.ID)
	}
	if err != nil {
		return err
	}
	for _, v := range d.Volumes {
		if !slices.Contains(found[0].Volumes, v.name()) {
			return fmt.Errorf("deployment %s has no %s any more", d.Name, describeVolume(v.name()))
		}
	}
	return nil
}

func (c *VolumeCopier) restoreDeployment(ctx context.Context, actor access.Actor, f *Folder,
	p restorePlan, node string) (results []VolumeResult, err error) {
	if len(p.stored.Volumes) == 0 {
		return nil, nil
	}
	h, err := c.Deployments.StartVolumeRestore(ctx, actor, p.id, lifecycle.VolumeRestore{Node: node,
		Bytes: p.stored.bytes(), Holder: c.Holder})
	if err != nil {
		return nil, err
	}
	last := int64(0)
	o := c.startCopy(ctx, h.Name, func(ctx context.Context, bytes int64) (bool, error) {
		if h.InPlace {
			return c.Deployments.TouchVolumeHold(ctx, actor, h.ID, c.Holder)
		}
		news := bytes
		if bytes == last {
			news = 0
		}
		last = bytes
		return c.Deployments.TouchRelocation(ctx, actor, h.Attempt, c.Holder, news)
	})
	results, changed, err := c.writeVolumes(o, f, p.stored, h)
	o.stop()
	if err != nil && !h.InPlace {
		results = nil
	}
	if err == nil {
		err = c.Deployments.FinishVolumeRestore(ctx, actor, h, c.Holder, p.stored.Resume)
	}
	if err == nil && !h.InPlace {
		return results, c.awaitArrival(ctx, actor, h)
	}
	if err != nil {
		ending, cancel := afterCopy(ctx)
		defer cancel()
		err = errors.Join(describePartly(h, p.stored, results, changed, err),
			c.Deployments.FailVolumeRestore(ending, actor, h, c.Holder, changed, err.Error()))
	}
	return results, err
}

// writeVolumes writes the volumes of one deployment. changed says that the first one was begun.
func (c *VolumeCopier) writeVolumes(o *oneCopy, f *Folder, d *storedDeployment,
	h controlplane.HeldVolumes) (results []VolumeResult, changed bool, err error) {
	if _, err := c.awaitStill(o.ctx, h.To, h.ID); err != nil {
		return nil, false, o.orCause(err)
	}
	for _, v := range d.Volumes {
		changed = true
		if err := c.writeVolume(o, f, v, h); err != nil {
			return results, changed, fmt.Errorf("%s: %w", describeVolume(v.name()), o.orCause(err))
		}
		c.Log.InfoContext(o.ctx, "volume restored", "deployment", d.Name, "step", v.Service,
			"volume", v.Volume, "bytes", v.Bytes, "node", h.ToName)
		results = append(results, d.result(v, "restored on node "+h.ToName))
	}
	return results, changed, nil
}

func (c *VolumeCopier) writeVolume(
	o *oneCopy, f *Folder, v storedVolume, h controlplane.HeldVolumes,
) error {
	content, err := f.openVolume(v)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	_, err = c.Nodes.WriteVolume(o.ctx, h.To, h.Attempt, v.name(), io.TeeReader(content, o))
	return err
}

// describePartly says what is restored of a deployment, and what is not.
func describePartly(h controlplane.HeldVolumes, d *storedDeployment, results []VolumeResult,
	changed bool, err error) error {
	switch {
	case !h.InPlace:
		return fmt.Errorf("%w; none of its volumes is restored, and node %s is cleared of it", err,
			h.ToName)
	case !changed:
		return fmt.Errorf("%w; its volumes are as they were", err)
	}
	var in, out []string
	for i, v := range d.Volumes {
		name := string(v.Service) + "/" + v.Volume
		if i < len(results) {
			in = append(in, name)
		} else {
			out = append(out, name)
		}
	}
	if len(in) == 0 {
		in = []string{"none"}
	}
	return fmt.Errorf("%w; restored: %s; not restored: %s; its services stay stopped until a restore "+
		"succeeds", err, strings.Join(in, ", "), strings.Join(out, ", "))
}

// awaitArrival waits until the services are ready where they were restored. The control plane
// bounds that, and calls it off otherwise.
func (c *VolumeCopier) awaitArrival(
	ctx context.Context, actor access.Actor, h controlplane.HeldVolumes,
) error {
	for {
		arrived, err := c.Deployments.VolumeRestoreArrived(ctx, actor, h)
		if err != nil || arrived {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its volumes are restored on node %s, and its services start there: %w",
				h.ToName, context.Cause(ctx))
		case <-time.After(askEvery):
		}
	}
}

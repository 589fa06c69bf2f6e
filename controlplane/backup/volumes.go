package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// BackupOptions choose what is backed up with its volumes.
type BackupOptions struct {
	lifecycle.VolumeSelection

	// Running leaves the services running. What they write meanwhile may be copied in part.
	Running bool
	// Folder is where the files go.
	Folder string
}

// Backup copies the volumes of what was chosen into the folder, deployment by deployment, and
// then the database. Started again, it continues. One deployment that fails does not stop
// the others; the backup is complete once a later one has copied it.
func (c *VolumeCopier) Backup(
	ctx context.Context, actor access.Actor, how BackupOptions,
) (results []VolumeResult, err error) {
	if err := checkAdmin(actor); err != nil {
		return nil, err
	}
	all, err := c.Deployments.ListVolumes(ctx, actor, how.VolumeSelection)
	if err != nil {
		return nil, err
	}
	f, err := openForBackup(how.Folder, c.Keys, c.Build, chosen{Deployments: how.Deployments,
		Environment: how.Environment, Running: how.Running})
	if err != nil {
		return nil, err
	}
	var failed error
	for _, h := range all {
		some, err := c.backUpDeployment(ctx, actor, f, h)
		results = append(results, some...)
		if stopped := interrupted(ctx); err != nil && stopped != nil {
			return results, stopped
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("deployment %s: %w", h.Name, err))
		}
	}
	err = c.writeDatabase(ctx, actor, f)
	if stopped := interrupted(ctx); err != nil && stopped != nil {
		return results, stopped
	}
	if err != nil {
		return results, errors.Join(failed, err)
	}
	f.index.Complete = failed == nil
	if err := errors.Join(failed, f.save()); err != nil {
		return results, fmt.Errorf("%w\nthe backup is not complete: start it again with the same "+
			"options to copy what is missing", err)
	}
	return results, nil
}

func (c *VolumeCopier) writeDatabase(
	ctx context.Context, actor access.Actor, f *Folder,
) (err error) {
	f.index.Database, err = f.replaceFile(databaseName, func(out io.Writer) (string, error) {
		return "", Write(ctx, actor, c.Source, out)
	})
	return err
}

func (c *VolumeCopier) backUpDeployment(ctx context.Context, actor access.Actor, f *Folder,
	h controlplane.HeldVolumes) (results []VolumeResult, err error) {
	for _, stays := range h.Stay {
		results = append(results, VolumeResult{Deployment: h.Name, Environment: h.Environment,
			Volume: controlplane.VolumeName{Name: stays}, State: "not copied: it stays on its node"})
	}
	if d := f.stored(h.ID); d != nil && d.Complete {
		for _, v := range d.Volumes {
			results = append(results, d.result(v, "copied before"))
		}
		return results, nil
	}
	running := f.index.Chosen.Running
	h, err = c.Deployments.StartVolumeBackup(ctx, actor, h.ID, c.Holder, running)
	if err != nil {
		return results, err
	}
	o := c.startCopy(ctx, h.Name, func(ctx context.Context, _ int64) (bool, error) {
		if running {
			return true, nil
		}
		return c.Deployments.TouchVolumeHold(ctx, actor, h.ID, c.Holder)
	})
	copied, err := c.copyVolumes(o, f, h)
	o.stop()
	if !running {
		detail := "its volumes were copied into a backup"
		if err != nil {
			detail = "its volumes were not all copied into a backup: " + err.Error()
		}
		ending, cancel := afterCopy(ctx)
		defer cancel()
		err = errors.Join(err, c.Deployments.EndVolumeHold(ending, actor, h.ID, c.Holder, detail))
	}
	return append(results, copied...), err
}

// copyVolumes copies the volumes of one deployment that are not in the folder yet.
func (c *VolumeCopier) copyVolumes(
	o *oneCopy, f *Folder, h controlplane.HeldVolumes,
) (results []VolumeResult, err error) {
	running := f.index.Chosen.Running
	d, err := f.begin(h)
	if err != nil {
		return nil, err
	}
	if !running {
		if d.Resume, err = c.awaitStill(o.ctx, h.To, h.ID); err != nil {
			return nil, o.orCause(err)
		}
	}
	for _, name := range h.Volumes {
		if v, ok := d.find(name); ok {
			results = append(results, d.result(v, "copied before"))
			continue
		}
		label := volumeLabel{Deployment: h.ID, Service: name.Step, Volume: name.Name}
		v, err := f.writeVolume(label, func(to io.Writer) error {
			return c.Nodes.ReadVolume(o.ctx, h.To, h.ID, name, running, io.MultiWriter(to, o))
		})
		if err != nil {
			return results, fmt.Errorf("%s: %w", describeVolume(name), o.orCause(err))
		}
		d.Volumes = append(d.Volumes, v)
		if err := f.save(); err != nil {
			return results, err
		}
		c.Log.InfoContext(o.ctx, "volume copied", "deployment", h.Name, "step", name.Step,
			"volume", name.Name, "bytes", v.Bytes)
		results = append(results, d.result(v, "copied"))
	}
	d.Complete, d.At = true, time.Now()
	return results, f.save()
}

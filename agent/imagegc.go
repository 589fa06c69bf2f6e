package agent

import (
	"context"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// collectImages removes unneeded images whenever free disk space falls below the floor. It
// removes nothing if the engine does not answer, or before the control plane has sent the
// list of images to keep.
func (a *Agent) collectImages(ctx context.Context) error {
	keeper, ok := a.runtime.(ImageKeeper)
	tick := time.NewTicker(a.config.CollectEvery)
	defer tick.Stop()
	for ok {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := a.collectOnce(ctx, keeper); err != nil && ctx.Err() == nil {
			a.log.Warn("images cannot be collected", "error", err)
		}
	}
	return nil
}

func (a *Agent) collectOnce(ctx context.Context, keeper ImageKeeper) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	store, err := keeper.Images(within)
	if err != nil {
		return err
	}
	a.images.restoreLostNames(store.Images)
	floor := a.config.DiskFloor.BytesOf(store.Total)
	care := a.collectionStatus(store, floor)
	pulled, kept, told := a.images.copyUsage()
	if store.Free < floor && told {
		kept = append(kept, a.imagesOfGoals()...)
		for _, p := range a.state.pluginImages() {
			kept = append(kept, p.Image)
		}
		for _, i := range SelectImagesToRemove(store, floor, pulled, kept, time.Now()) {
			if err := a.removeImage(within, keeper, i); err != nil {
				a.log.Info("an image stays", "image", i.References[0], "reason", err)
				continue
			}
			care.Removed++
			care.Freed += i.Size
			care.At = time.Now()
		}
	}
	a.images.mu.Lock()
	defer a.images.mu.Unlock()
	a.images.care = &care
	return nil
}

// collectionStatus describes the image store; its totals of removed images continue from
// the last round.
func (a *Agent) collectionStatus(store ImageStore, floor int64) wire.ImageCare {
	a.images.mu.Lock()
	defer a.images.mu.Unlock()
	care := wire.ImageCare{Count: len(store.Images), Floor: floor}
	for _, i := range store.Images {
		care.Bytes += i.Size
	}
	if last := a.images.care; last != nil {
		care.Removed, care.Freed, care.At = last.Removed, last.Freed, last.At
	}
	return care
}

func (a *Agent) removeImage(ctx context.Context, keeper ImageKeeper, i StoredImage) error {
	for _, handle := range a.images.engineReferences(i) {
		if err := keeper.RemoveImage(ctx, handle); err != nil {
			a.images.recordRemovalStart(i)
			return err
		}
	}
	a.log.Info("image removed: the disk is full, and nothing needs it", "image",
		i.References[0], "bytes", i.Size)
	return a.images.forgetImage(i, time.Now())
}

// imagesOfGoals are those of every deployment on this node, wanted or not yet
// gone.
func (a *Agent) imagesOfGoals() (all []pipeline.Image) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range a.views {
		if v.goal == nil {
			continue
		}
		for _, s := range v.goal.Pipeline.Steps {
			if image := imageOf(s); image != nil {
				all = append(all, *image)
			}
		}
	}
	return all
}

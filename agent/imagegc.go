package agent

import (
	"context"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// imageCollector removes images that nothing needs when the disk is full.
type imageCollector struct{ *base }

// collectImages removes unneeded images whenever free disk space falls below the floor. It
// removes nothing if the engine does not answer, or before the control plane has sent the
// list of images to keep.
func (ic *imageCollector) collectImages(ctx context.Context) error {
	keeper, ok := ic.runtime.(ImageKeeper)
	tick := time.NewTicker(ic.config.CollectEvery)
	defer tick.Stop()
	for ok {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := ic.collectOnce(ctx, keeper); err != nil && ctx.Err() == nil {
			ic.log.Warn("images cannot be collected", "error", err)
		}
	}
	return nil
}

func (ic *imageCollector) collectOnce(ctx context.Context, keeper ImageKeeper) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	store, err := keeper.Images(within)
	if err != nil {
		return err
	}
	ic.images.restoreLostNames(store.Images)
	floor := ic.config.DiskFloor.BytesOf(store.Total)
	care := ic.collectionStatus(store, floor)
	pulled, kept, told := ic.images.copyUsage()
	if store.Free < floor && told {
		kept = append(kept, ic.imagesOfGoals()...)
		for _, p := range ic.state.pluginImages() {
			kept = append(kept, p.Image)
		}
		for _, i := range SelectImagesToRemove(store, floor, pulled, kept, time.Now()) {
			if err := ic.removeImage(within, keeper, i); err != nil {
				ic.log.Info("an image stays", "image", i.References[0], "error", err)
				continue
			}
			care.Removed++
			care.Freed += i.Size
			care.At = time.Now()
		}
	}
	ic.images.mu.Lock()
	defer ic.images.mu.Unlock()
	ic.images.care = &care
	return nil
}

// collectionStatus describes the image store; its totals of removed images continue from
// the last round.
func (ic *imageCollector) collectionStatus(store ImageStore, floor int64) wire.ImageCare {
	ic.images.mu.Lock()
	defer ic.images.mu.Unlock()
	care := wire.ImageCare{Count: len(store.Images), Floor: floor}
	for _, i := range store.Images {
		care.Bytes += i.Size
	}
	if last := ic.images.care; last != nil {
		care.Removed, care.Freed, care.At = last.Removed, last.Freed, last.At
	}
	return care
}

func (ic *imageCollector) removeImage(
	ctx context.Context, keeper ImageKeeper, i StoredImage,
) error {
	for _, handle := range ic.images.engineReferences(i) {
		if err := keeper.RemoveImage(ctx, handle); err != nil {
			ic.images.recordRemovalStart(i)
			return err
		}
	}
	ic.log.Info("image removed: the disk is full, and nothing needs it", "image",
		i.References[0], "bytes", i.Size)
	return ic.images.forgetImage(i, time.Now())
}

package agent

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/pipeline"
)

// ImageKeeper is a Runtime whose images take room on the node. One that keeps
// them elsewhere needs no collecting.
type ImageKeeper interface {
	// Images lists every image, and what room there is.
	Images(ctx context.Context) (ImageStore, error)
	// RemoveImage takes one name of an image away, and with the last one the
	// image. One that has lost its names is removed by its id. It never forces:
	// an image that a container uses stays.
	RemoveImage(ctx context.Context, reference string) error
}

// ImageStore is where images are. Free and Total are in bytes.
type ImageStore struct {
	Free, Total int64
	Images      []StoredImage
}

// StoredImage is one image of the engine. References are its names by digest.
type StoredImage struct {
	ID         string
	References []string
	// Tagged: it also has a name by tag, which is how people call theirs.
	Tagged bool
	Size   int64
	// InUse: some container is made from it, running or not.
	InUse bool
}

// DiskFloor is how much of a disk stays free: bytes, or a part of its size.
type DiskFloor struct {
	Bytes int64
	Part  float64
}

// ParseDiskFloor reads "10GiB", "500MiB" or "10%". "0" never collects.
func ParseDiskFloor(s string) (DiskFloor, error) {
	wrong := fmt.Errorf("%q is no amount of room; write one like 10GiB or 10%%", s)
	unit, text := int64(1), s
	for suffix, n := range map[string]int64{"GiB": 1 << 30, "MiB": 1 << 20} {
		if cut, ok := strings.CutSuffix(s, suffix); ok {
			unit, text = n, cut
		}
	}
	percent, relative := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	switch {
	case err != nil, math.IsNaN(n), n < 0, n > 1<<20, relative && (n > 90 || unit > 1),
		!relative && unit == 1 && n != 0:
		return DiskFloor{}, wrong
	case relative:
		return DiskFloor{Part: n / 100}, nil
	}
	return DiskFloor{Bytes: int64(n * float64(unit))}, nil
}

// BytesOf is the floor of a disk of this size.
func (f DiskFloor) BytesOf(total int64) int64 { return max(f.Bytes, int64(f.Part*float64(total))) }

// UsedImage is an image that we pulled: its tag then, and when a run last asked
// for it.
type UsedImage struct {
	Registry   string    `json:"registry"`
	Repository string    `json:"repository"`
	Tag        string    `json:"tag,omitempty"`
	Used       time.Time `json:"used"`
}

// minImageAge is how long an image stays after a run asked for it: between a pull
// and the container nothing else shows that it is needed.
const minImageAge = 15 * time.Minute

// SelectImagesToRemove chooses the images to remove until the free space reaches the floor, least
// recently
// used first: images that we pulled, that no container and no entry of the keep list refers
// to, and that no run has used lately. It is pure. Layers shared between images make it
// choose too few rather than too many; the next round continues.
func SelectImagesToRemove(
	s ImageStore,
	floor int64,
	pulled map[string]UsedImage,
	kept []pipeline.Image,
	now time.Time,
) []StoredImage {
	var can []StoredImage
	for _, i := range s.Images {
		if !i.InUse && !i.Tagged && len(i.References) > 0 && isRemovable(i, pulled, kept, now) {
			can = append(can, i)
		}
	}
	slices.SortStableFunc(can, func(a, b StoredImage) int {
		return lastUse(a, pulled).Compare(lastUse(b, pulled))
	})
	free := s.Free
	for n, i := range can {
		if free >= floor {
			return can[:n]
		}
		free += i.Size
	}
	return can
}

func isRemovable(i StoredImage, pulled map[string]UsedImage, kept []pipeline.Image,
	now time.Time) bool {
	for _, reference := range i.References {
		digest := digestOf(reference)
		ours, known := pulled[digest]
		if !known || now.Sub(ours.Used) < minImageAge {
			return false
		}
		if slices.ContainsFunc(
			kept,
			func(k pipeline.Image) bool { return ours.matchesImage(k, digest) },
		) {
			return false
		}
	}
	return true
}

// matchesImage reports whether an entry of the keep list means this image. An entry with
// only a tag means the image the tag pointed to when we pulled it.
func (u UsedImage) matchesImage(k pipeline.Image, digest string) bool {
	if k.Digest != "" {
		return k.Digest == digest
	}
	return k.Tag != "" && k.Tag == u.Tag && k.Repository == u.Repository &&
		k.Registry == u.Registry
}

func lastUse(i StoredImage, pulled map[string]UsedImage) (last time.Time) {
	for _, reference := range i.References {
		if used := pulled[digestOf(reference)].Used; used.After(last) {
			last = used
		}
	}
	return last
}

func digestOf(reference string) string {
	_, digest, _ := strings.Cut(reference, "@")
	return digest
}

const imagesName = "images.json"

// imageBook remembers what we pulled. It is a file of its own: losing it means
// that the images stay, and nothing worse.
type imageBook struct {
	disk   durable.FS
	mu     sync.Mutex
	path   string
	pulled map[string]UsedImage
	stored time.Time
	// kept is what the control plane wants to stay; nil before the first list arrived.
	kept []pipeline.Image
	// parts collects a list that comes in several messages.
	parts []pipeline.Image
	// lost are the names of images whose removal began and failed, by their ids.
	lost map[string][]string
	// care is the result of the last collection, for display.
	care *wire.ImageCare
}

// openImageBook reads the book. A damaged one is put aside, which damage says.
func openImageBook(disk durable.FS, dir string) (b *imageBook, damage, err error) {
	b = &imageBook{disk: disk, path: filepath.Join(dir, imagesName),
		pulled: map[string]UsedImage{}, lost: map[string][]string{}}
	data, err := readIfThere(b.path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the list of images: %w", err)
	}
	if data == nil {
		return b, nil, nil
	}
	if damage = durable.UnmarshalChecked(data, &b.pulled); damage != nil {
		b.pulled = map[string]UsedImage{}
		damage, err = putFileAside(disk, b.path, damage)
	}
	return b, damage, err
}

// recordUse records that a run needs an image, before the run does anything with it.
func (b *imageBook) recordUse(i pipeline.Image, now time.Time) error {
	if i.Digest == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.pulled[i.Digest]
	b.pulled[i.Digest] = UsedImage{Registry: i.Registry, Repository: i.Repository, Tag: i.Tag,
		Used: now}
	if known && now.Sub(b.stored) < minImageAge {
		// That it was used again counts here at once, and on disk soon.
		return nil
	}
	return b.storeLocked(now)
}

func (b *imageBook) storeLocked(now time.Time) error {
	data, err := durable.MarshalChecked(b.pulled)
	if err == nil {
		err = durable.WriteFile(b.disk, b.path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the list of images: %w", err)
	}
	b.stored = now
	return nil
}

// addKeepList adds one part of the keep list; the last part has no More.
func (b *imageBook) addKeepList(k wire.Keep) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = append(b.parts, k.Images...)
	if k.More {
		return
	}
	b.kept, b.parts = append([]pipeline.Image{}, b.parts...), nil
}

// copyUsage copies what a decision needs; ok is false until the control plane has sent a
// complete keep list.
func (b *imageBook) copyUsage() (pulled map[string]UsedImage, kept []pipeline.Image, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.pulled), slices.Clone(b.kept), b.kept != nil
}

func (b *imageBook) forgetImage(i StoredImage, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, reference := range i.References {
		delete(b.pulled, digestOf(reference))
	}
	return b.storeLocked(now)
}

// recordRemovalStart remembers an image's names, because a removal can drop them and then
// fail: on a full disk, Docker removes a name, fails to write that down, and stops.
func (b *imageBook) recordRemovalStart(i StoredImage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost[i.ID] = i.References
}

// restoreLostNames restores the names of images that lost them in a failed removal. The
// engine itself knows them again after a restart, so ours need not be stored.
func (b *imageBook) restoreLostNames(images []StoredImage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	still := map[string][]string{}
	for n, i := range images {
		if names, ok := b.lost[i.ID]; ok && len(i.References) == 0 && !i.Tagged {
			images[n].References, still[i.ID] = names, names
		}
	}
	b.lost = still
}

// engineReferences returns the names, or else the ID, by which the engine knows an image.
func (b *imageBook) engineReferences(i StoredImage) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.lost[i.ID]; ok {
		return []string{i.ID}
	}
	return i.References
}

// lastCollection returns the result of the last collection, or nil.
func (b *imageBook) lastCollection() *wire.ImageCare {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.care == nil {
		return nil
	}
	care := *b.care
	return &care
}

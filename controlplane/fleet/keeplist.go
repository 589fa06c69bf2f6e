package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

const (
	// keepRecent is how long images of a removed deployment stay on nodes, for people who
	// create a similar one.
	keepRecent = 7 * 24 * time.Hour
	// keepFor is how long a list of images is good. An older one costs a pull.
	keepFor = time.Minute
	// keepAtOnce bounds a message; an image is some two hundred bytes.
	keepAtOnce = 1000
)

// keepListCache is the list of images that agents may not collect, read once for all
// sessions. The zero value is ready.
type keepListCache struct {
	mu     sync.Mutex
	images []pipeline.Image
	read   time.Time
}

func (k *keepListCache) list(ctx context.Context, nodes Nodes) ([]pipeline.Image, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.read.IsZero() && time.Since(k.read) < keepFor {
		return k.images, nil
	}
	images, err := nodes.KeptImages(ctx)
	if err != nil {
		return nil, err
	}
	k.images, k.read = images, time.Now()
	return images, nil
}

// sendKeepList sends the list of images that the agent must not remove, even when disk
// is short.
func (s *session) sendKeepList(ctx context.Context) error {
	now, err := s.kept.list(ctx, s.Nodes)
	if err != nil {
		return s.mayFail(ctx, "list of images", err)
	}
	if s.toldKeep && slices.Equal(now, s.keep) {
		return nil
	}
	// Send an empty list too: an agent that never received one removes nothing.
	s.keep, s.toldKeep = now, true
	for rest := now; ; {
		n := min(len(rest), keepAtOnce)
		err := s.conn.Send(ctx, wire.Keep{Images: rest[:n], More: n < len(rest)})
		if rest = rest[n:]; err != nil || len(rest) == 0 {
			return err
		}
	}
}

// KeptImages implements Nodes.
func (t NodeTable) KeptImages(ctx context.Context) (images []pipeline.Image, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		images, err = tx.Images().ListKept(ctx, keepRecent)
		return err
	})
	return images, err
}

func imageCare(c *wire.ImageCare) *controlplane.ImageCare {
	if c == nil {
		return nil
	}
	care := controlplane.ImageCare(*c)
	return &care
}

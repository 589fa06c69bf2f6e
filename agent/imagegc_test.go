package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// shelf is an engine that keeps images on a disk of 100 bytes, 30 each.
type shelf struct {
	*dummy.Runtime
	mu      sync.Mutex
	names   []string
	removed []string
	// lazy: the engine drops a name, and fails before it removes what had it.
	lazy bool
	lost string
}

func imageID(name string) string { return "sha256:" + name }

// Images implements agent.ImageKeeper.
func (s *shelf) Images(context.Context) (agent.ImageStore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	store := agent.ImageStore{Total: 100, Free: 100 - 30*int64(len(s.names))}
	for _, name := range s.names {
		i := agent.StoredImage{ID: name, Size: 30}
		if name != s.lost {
			i.References = []string{"r/" + name + "@" + imageID(name)}
		}
		store.Images = append(store.Images, i)
	}
	return store, nil
}

// RemoveImage implements agent.ImageKeeper.
func (s *shelf) RemoveImage(_ context.Context, reference string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lazy {
		_, digest, _ := strings.Cut(reference, "@")
		s.lazy, s.lost = false, strings.TrimPrefix(digest, "sha256:")
		return errors.New("no space left on device")
	}
	s.names = slices.DeleteFunc(s.names, func(name string) bool {
		return reference == "r/"+name+"@"+imageID(name) && name != s.lost ||
			reference == name && name == s.lost
	})
	s.removed = append(s.removed, reference)
	return nil
}

func (s *shelf) listRemoved() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.removed)
}

// Below the floor, images that nothing needs are removed, the one that was asked
// for longest ago first and no more than it takes; not before the control plane
// has said what has to stay, even if that is nothing.
func TestAgent_CollectsImagesBelowTheFloor(t *testing.T) {
	p := newPlane(t)
	r := &shelf{Runtime: dummy.New(dummy.Hooks{}), names: []string{"kept", "younger", "oldest"}}
	n := p.bootWith(agent.Config{Data: makeShelfDir(t), DiskFloor: agent.DiskFloor{Part: 0.2},
		CollectEvery: 20 * time.Millisecond}, r)
	s := n.connect()
	p.until("a round without a word on what stays", func() bool {
		return p.vitals.Images != nil && p.vitals.Images.Count == 3
	})
	if gone := r.listRemoved(); len(gone) > 0 {
		t.Fatalf("removed before anything was said: %v", gone)
	}
	keep := wire.Keep{Images: []pipeline.Image{{Registry: "r", Repository: "kept",
		Digest: imageID("kept")}}}
	if err := s.Send(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	p.until("the floor", func() bool {
		return p.vitals.Images != nil && p.vitals.Images.Removed == 1
	})
	if gone := r.listRemoved(); !slices.Equal(gone, []string{"r/oldest@" + imageID("oldest")}) {
		t.Errorf("removed %v", gone)
	}
}

// makeShelfDir returns a data folder whose agent pulled the images of a shelf.
func makeShelfDir(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	book := map[string]agent.UsedImage{}
	for i, name := range []string{"kept", "oldest", "younger"} {
		book[imageID(name)] = agent.UsedImage{Registry: "r", Repository: name,
			Used: time.Now().Add(time.Duration(i-30) * time.Hour)}
	}
	data, err := json.Marshal(book)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "images.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An engine whose disk has not a byte left drops an image's name, fails to write
// that down, and keeps the image: it goes by its id then.
func TestAgent_CollectsAnImageThatLostItsName(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	r := &shelf{Runtime: dummy.New(dummy.Hooks{}), names: []string{"kept", "younger", "oldest"},
		lazy: true}
	n := p.bootWith(agent.Config{Data: makeShelfDir(t), DiskFloor: agent.DiskFloor{Part: 0.2},
		CollectEvery: 20 * time.Millisecond}, r)
	if err := n.connect().Send(t.Context(), wire.Keep{Images: []pipeline.Image{{Registry: "r",
		Repository: "kept", Digest: imageID("kept")}}}); err != nil {
		t.Fatal(err)
	}
	p.until("the floor", func() bool {
		return p.vitals.Images != nil && p.vitals.Images.Removed == 1
	})
	if gone := r.listRemoved(); !slices.Equal(gone, []string{"oldest"}) {
		t.Errorf("removed %v", gone)
	}
}

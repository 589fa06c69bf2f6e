package docker_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// On a real engine, of images that agents pulled, the ones that a container is
// made from and that are kept stay, as does what people call by a tag; the one
// that nothing needs goes.
func TestImages_CollectsOnlyWhatNobodyNeeds(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	pulled := map[string]agent.UsedImage{}
	// Everybody's registry and engine: the name makes these images this test's.
	pull := func(name string, keepTag bool) pipeline.Image {
		image := dockertest.PublishActorImage(t, r.host, "nullops-test/collect-"+name,
			`ENTRYPOINT ["/actor"]`, "ENV WHO="+name, "ENV RUN="+r.install)
		if !keepTag {
			_, err := r.api.ImageRemove(t.Context(),
				fmt.Sprintf("%s/%s:%s", image.Registry, image.Repository, image.Tag),
				client.ImageRemoveOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Pull(t.Context(), image, nil, nil); err != nil {
			t.Fatal(err)
		}
		pulled[image.Digest] = agent.UsedImage{Registry: image.Registry,
			Repository: image.Repository, Tag: image.Tag, Used: time.Now().Add(-time.Hour)}
		return image
	}
	spare, kept := pull("spare", false), pull("kept", false)
	used, tagged := pull("used", false), pull("tagged", true)
	made, err := r.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &container.Config{Image: used.Registry + "/" + used.Repository + "@" + used.Digest}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.removeAfter(made.ID, kept, used, tagged) })
	store, err := r.Images(t.Context())
	if err != nil || store.Total <= 0 || store.Free <= 0 || store.Free > store.Total {
		t.Fatalf("images: %+v, %v", store, err)
	}
	// promise: I-15
	gone := agent.SelectImagesToRemove(
		store,
		store.Total+1,
		pulled,
		[]pipeline.Image{kept},
		time.Now(),
	)
	if len(gone) != 1 || !slices.ContainsFunc(gone[0].References, func(s string) bool {
		return len(s) > 71 && s[len(s)-71:] == spare.Digest
	}) {
		t.Fatalf("chosen: %+v; wanted %s only", gone, spare.Digest)
	}
	for _, reference := range gone[0].References {
		if err := r.RemoveImage(t.Context(), reference); err != nil {
			t.Fatal(err)
		}
	}
	for image, want := range map[*pipeline.Image]bool{&spare: false, &kept: true, &used: true,
		&tagged: true} {
		if there, err := r.HasImage(t.Context(), *image); err != nil || there != want {
			t.Errorf("%s is there: %v, %v; wanted %v", image.Repository, there, err, want)
		}
	}
	// Even asked for, an image that a container is made from stays.
	err = r.RemoveImage(t.Context(), used.Registry+"/"+used.Repository+"@"+used.Digest)
	if err == nil {
		t.Error("an image in use was removed")
	}
}

// removeAfter removes what the test made and a rig does not know about.
func (r *rig) removeAfter(container string, images ...pipeline.Image) {
	ctx := context.WithoutCancel(r.t.Context())
	_, _ = r.api.ContainerRemove(ctx, container, client.ContainerRemoveOptions{Force: true})
	for _, i := range images {
		for _, name := range []string{":" + i.Tag, "@" + i.Digest} {
			_, _ = r.api.ImageRemove(ctx, i.Registry+"/"+i.Repository+name,
				client.ImageRemoveOptions{})
		}
	}
}

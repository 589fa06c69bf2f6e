package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

var _ agent.ImageKeeper = (*Docker)(nil)

// Images implements agent.ImageKeeper. Every container counts as a use of its image, also
// stopped ones and those of other programs.
func (im *images) Images(ctx context.Context) (agent.ImageStore, error) {
	var s agent.ImageStore
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	// Images first: one that a container takes into use in between is in use.
	images, err := im.api.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return s, fmt.Errorf("list images: %w", wrapUnavailable(err))
	}
	containers, err := im.api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return s, fmt.Errorf("list containers: %w", wrapUnavailable(err))
	}
	used := map[string]bool{}
	for _, c := range containers.Items {
		used[c.ImageID] = true
	}
	for _, i := range images.Items {
		s.Images = append(s.Images, agent.StoredImage{ID: i.ID, References: dropUnnamed(i.RepoDigests),
			Tagged: slices.ContainsFunc(i.RepoTags, isTag), Size: i.Size, InUse: used[i.ID]})
	}
	s.Total, s.Free, err = diskSpace(im.imageRoot())
	if err != nil {
		return s, fmt.Errorf("measure the images' disk: %w", err)
	}
	return s, nil
}

// dropUnnamed drops "<none>", which engines up to 23 return for an image without a name.
func dropUnnamed(of []string) []string {
	return slices.DeleteFunc(of, func(name string) bool { return strings.HasPrefix(name, "<none>") })
}

// isTag reports whether a name that the engine lists as a tag is one. Where containerd keeps the
// images, names by digest are among them.
func isTag(name string) bool {
	return !strings.HasPrefix(name, "<none>") && !strings.Contains(name, "@")
}

// imageRoot is where the engine keeps images, or the nearest that we can see.
func (im *images) imageRoot() string {
	if root := im.hostPaths().imageRoot; root != "" {
		return root
	}
	return im.config.DataDir
}

// RemoveImage implements agent.ImageKeeper.
func (im *images) RemoveImage(ctx context.Context, reference string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := im.api.ImageRemove(ctx, reference,
		client.ImageRemoveOptions{PruneChildren: true})
	if err == nil || isNotFound(err) {
		return nil
	}
	return fmt.Errorf("remove image %s: %w", reference, wrapMutationErr(err))
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// registryPatience is how long a registry may take to describe an image.
const registryPatience = 2 * time.Minute

// errCredentials is the answer to an image of a private registry.
var errCredentials = errors.New("images that need credentials cannot be pulled on Kubernetes " +
	"yet: use a registry that the cluster may read without, or a node with Docker")

// imageConfig is how an image wants to be started. Kubernetes shows it to nobody, so the registry
// is asked.
type imageConfig struct {
	Entrypoint []string
	Cmd        []string
	User       string
	Volumes    []string
}

// images asks registries about images. The machines of the cluster pull them when a pod needs them.
type images struct {
	*base
	mu    sync.Mutex
	known map[string]imageConfig
}

func newImages(b *base) *images { return &images{base: b, known: map[string]imageConfig{}} }

// imageReference is the image's name as pods have it.
func imageReference(i pipeline.Image) string {
	name := i.Repository
	if i.Registry != "" {
		name = i.Registry + "/" + name
	}
	if i.Digest != "" {
		return name + "@" + i.Digest
	}
	return name + ":" + i.Tag
}

// Pull asks the registry for the image's description, which fails without access to it. The bytes
// come later: which machine needs them is decided when a pod starts.
func (im *images) Pull(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth,
	progress func(agent.PullProgress),
) error {
	ref := imageReference(image)
	if auth != nil {
		return fmt.Errorf("pull %s: %w", ref, errCredentials)
	}
	if err := im.describe(ctx, ref); err != nil {
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	if progress != nil {
		progress(agent.PullProgress{})
	}
	return nil
}

// HasImage asks the machines what they have.
func (im *images) HasImage(ctx context.Context, image pipeline.Image) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	machines, err := im.machines.list(ctx, "", "")
	if err != nil {
		return false, fmt.Errorf("list machines: %w", wrapQueryErr(err))
	}
	ref := imageReference(image)
	for _, m := range machines {
		for _, i := range m.Status.Images {
			if slices.Contains(i.Names, ref) {
				return true, nil
			}
		}
	}
	return false, nil
}

// configOf returns how an image wants to be started; Pull has usually asked before.
func (im *images) configOf(ctx context.Context, image pipeline.Image) (imageConfig, error) {
	ref := imageReference(image)
	im.mu.Lock()
	c, known := im.known[ref]
	im.mu.Unlock()
	if known {
		return c, nil
	}
	if err := im.describe(ctx, ref); err != nil {
		return c, fmt.Errorf("how image %s is started cannot be read: %w", ref, err)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.known[ref], nil
}

func (im *images) describe(ctx context.Context, reference string) error {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	platforms, err := im.platforms(ctx)
	if err != nil {
		return err
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	answer, err := remote.Get(ref, remote.WithContext(ctx), remote.WithPlatform(platforms[0]))
	if err != nil {
		return registryError(err)
	}
	image, err := answer.Image()
	if err != nil {
		return registryError(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return registryError(err)
	}
	if !slices.ContainsFunc(platforms, func(p v1.Platform) bool {
		return file.Architecture == "" || file.Architecture == p.Architecture
	}) {
		return fmt.Errorf("the image is for %s/%s, and the cluster's machines are %s: choose an "+
			"image for them", file.OS, file.Architecture, joinPlatforms(platforms))
	}
	c := imageConfig{Entrypoint: file.Config.Entrypoint, Cmd: file.Config.Cmd,
		User: file.Config.User}
	for path := range file.Config.Volumes {
		c.Volumes = append(c.Volumes, path)
	}
	slices.Sort(c.Volumes)
	im.mu.Lock()
	defer im.mu.Unlock()
	im.known[reference] = c
	return nil
}

// platforms are those of the cluster's machines.
func (im *images) platforms(ctx context.Context) (all []v1.Platform, err error) {
	machines, err := im.machines.list(ctx, "", "")
	if err != nil {
		return nil, wrapQueryErr(err)
	}
	for _, m := range machines {
		p := v1.Platform{OS: m.Status.NodeInfo.OperatingSystem,
			Architecture: m.Status.NodeInfo.Architecture}
		if p.Architecture != "" && !slices.ContainsFunc(all, p.Equals) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the cluster has no machine that could run it")
	}
	return all, nil
}

func joinPlatforms(all []v1.Platform) string {
	var names []string
	for _, p := range all {
		names = append(names, p.OS+"/"+p.Architecture)
	}
	return strings.Join(names, ", ")
}

// registryError keeps the registry's own sentence, without the address of each request.
func registryError(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && len(answer.Errors) > 0 {
		return fmt.Errorf("the registry refuses it: %s", answer.Errors[0].Message)
	}
	return err
}

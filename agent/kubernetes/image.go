package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// registryPatience is how long a registry may take to describe an image.
const registryPatience = 2 * time.Minute

// imageConfig is how an image wants to be started. Kubernetes shows it to nobody, so the registry
// is asked.
type imageConfig struct {
	Entrypoint []string
	Cmd        []string
	User       string
	Volumes    []string
	// Health is the command of its own health check; empty without one.
	Health []string
}

// images asks registries about images. The machines of the cluster pull them when a pod needs them.
type images struct {
	*base
	pulls *pullSecrets
	mu    sync.Mutex
	known map[string]imageConfig
	// accounts are the users and groups of images in which one was looked up.
	accounts map[string]accounts
}

func newImages(b *base, pulls *pullSecrets) *images {
	return &images{base: b, pulls: pulls, known: map[string]imageConfig{},
		accounts: map[string]accounts{}}
}

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
	if err := im.describe(ctx, image, auth); err != nil {
		return fmt.Errorf("pull %s: %w", imageReference(image), err)
	}
	im.pulls.rememberAuth(image, auth)
	if progress != nil {
		progress(agent.PullProgress{})
	}
	return nil
}

// HasImage asks the machines what they have. An image has to be on each that may get the pod:
// otherwise a registry may be needed after all.
func (im *images) HasImage(ctx context.Context, image pipeline.Image) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	machines, err := im.usableMachines(ctx)
	if err != nil {
		return false, fmt.Errorf("list machines: %w", wrapQueryErr(err))
	}
	ref := imageReference(image)
	for _, m := range machines {
		if !slices.ContainsFunc(m.Status.Images, func(i corev1.ContainerImage) bool {
			return slices.Contains(i.Names, ref)
		}) {
			return false, nil
		}
	}
	return len(machines) > 0, nil
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
	if err := im.describe(ctx, image, im.pulls.authOf(image)); err != nil {
		return c, fmt.Errorf("how image %s is started cannot be read: %w", ref, err)
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.known[ref], nil
}

func (im *images) describe(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth,
) error {
	ctx, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	platforms, err := im.platforms(ctx)
	if err != nil {
		return err
	}
	file, err := readConfigFile(ctx, image, auth, platforms[0])
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(platforms, func(p v1.Platform) bool {
		return file.Architecture == "" || file.Architecture == p.Architecture
	}) {
		return fmt.Errorf("the image is for %s/%s, and the cluster's machines are %s: choose an "+
			"image for them", file.OS, file.Architecture, joinPlatforms(platforms))
	}
	c := imageConfig{Entrypoint: file.Config.Entrypoint, Cmd: file.Config.Cmd,
		User: file.Config.User}
	if h := file.Config.Healthcheck; h != nil && len(h.Test) > 1 {
		switch h.Test[0] {
		case "CMD":
			c.Health = h.Test[1:]
		case "CMD-SHELL":
			c.Health = []string{"/bin/sh", "-c", h.Test[1]}
		}
	}
	for path := range file.Config.Volumes {
		c.Volumes = append(c.Volumes, path)
	}
	slices.Sort(c.Volumes)
	im.mu.Lock()
	defer im.mu.Unlock()
	im.known[imageReference(image)] = c
	return nil
}

// readConfigFile asks the registry how an image wants to be started.
func readConfigFile(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth, platform v1.Platform,
) (*v1.ConfigFile, error) {
	found, err := openImage(ctx, image, auth, platform)
	if err != nil {
		return nil, err
	}
	file, err := found.ConfigFile()
	if err != nil {
		return nil, registryError(err)
	}
	return file, nil
}

// openImage finds the image in its registry; its parts are read as they are asked for.
func openImage(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth, platform v1.Platform,
) (v1.Image, error) {
	var options []name.Option
	if image.Insecure {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(imageReference(image), options...)
	if err != nil {
		return nil, err
	}
	with := []remote.Option{remote.WithContext(ctx), remote.WithPlatform(platform)}
	if auth != nil {
		with = append(with, remote.WithAuth(&authn.Basic{Username: auth.Username,
			Password: auth.Password}))
	}
	answer, err := remote.Get(ref, with...)
	if err != nil {
		return nil, registryError(err)
	}
	found, err := answer.Image()
	if err != nil {
		return nil, registryError(err)
	}
	return found, nil
}

// platforms are those of the cluster's machines.
func (im *images) platforms(ctx context.Context) (all []v1.Platform, err error) {
	machines, err := im.usableMachines(ctx)
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

package docker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/containerd/errdefs"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// images pulls, inspects and removes images.
type images struct{ *engine }

// imageReference is how the engine spells an image. The digest decides; a tag is
// left out beside it, since engines before 25 refuse both together.
func imageReference(i pipeline.Image) string {
	name := i.Repository
	if i.Registry != "" {
		name = i.Registry + "/" + name
	}
	switch {
	case i.Digest != "":
		return name + "@" + i.Digest
	case i.Tag != "":
		return name + ":" + i.Tag
	}
	return name
}

// Pull makes the image present, and fails unless the registry grants these credentials
// access: an image that another run left on the node is still private. An image with a
// digest that is already here is checked with the registry but not transferred. The engine
// allows plain HTTP on loopback only; an operator can allow more in the engine's
// configuration.
func (im *images) Pull(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth,
	progress func(agent.PullProgress),
) error {
	ref := imageReference(image)
	if image.Insecure && !isLoopback(image.Registry) {
		return fmt.Errorf("pull %s: plain HTTP is allowed for registries on loopback only", ref)
	}
	header, err := authHeader(auth)
	if err != nil {
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	present, err := im.HasImage(ctx, image)
	if err != nil {
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	if present && image.Digest != "" {
		if err := im.checkRegistryAccess(ctx, ref, header); err != nil {
			return fmt.Errorf("image %s is on the node, and the registry does not let this "+
				"deployment have it: %w", ref, explainCertificate(image.Registry, err))
		}
		return nil
	}
	if err := im.pullWatched(ctx, ref, header, progress); err != nil {
		err = im.findRegistryReason(ctx, ref, header, err)
		return fmt.Errorf("pull %s: %w", ref, explainCertificate(image.Registry, err))
	}
	return nil
}

// explainCertificate adds what helps when the engine does not know the authority
// of a registry's certificate. The engine reads the file on its own machine, where
// the agent may not write, and reports this reason as text only.
func explainCertificate(registry string, err error) error {
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		return err
	}
	return fmt.Errorf("%w. Put the certificate of the registry's authority at "+
		"/etc/docker/certs.d/%s/ca.crt on this node; Docker reads it without a restart",
		err, registry)
}

// HasImage reports whether the engine has the image.
func (im *images) HasImage(ctx context.Context, image pipeline.Image) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err := im.api.ImageInspect(ctx, imageReference(image))
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, wrapUnavailable(err)
}

// authHeader encodes credentials as the engine's X-Registry-Auth header expects them.
func authHeader(auth *wire.RegistryAuth) (string, error) {
	if auth == nil {
		return "", nil
	}
	header, err := authconfig.Encode(registry.AuthConfig{
		Username: auth.Username, Password: auth.Password,
	})
	if err != nil {
		return "", fmt.Errorf("encode credentials: %w", err)
	}
	return header, nil
}

// isLoopback reports whether a registry's host[:port] is this machine.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func (im *images) imageConfig(
	ctx context.Context, i pipeline.Image,
) (dockerspec.DockerOCIImageConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := im.api.ImageInspect(ctx, imageReference(i))
	if isNotFound(err) {
		return dockerspec.DockerOCIImageConfig{},
			fmt.Errorf("image %s: %w: %w", imageReference(i), agent.ErrNoImage, wrapQueryErr(err))
	}
	if err != nil {
		return dockerspec.DockerOCIImageConfig{},
			fmt.Errorf("image %s: %w", imageReference(i), wrapQueryErr(err))
	}
	if r.Config == nil {
		return dockerspec.DockerOCIImageConfig{}, nil
	}
	return *r.Config, nil
}

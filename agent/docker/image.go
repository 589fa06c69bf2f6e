package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// reference is how the engine spells an image. The digest decides; a tag is
// left out beside it, since engines before 25 refuse both together.
func reference(i pipeline.Image) string {
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

// Pull makes the image present. An image with a digest that is here already is
// not asked for again. The engine allows plain HTTP on loopback by itself and
// nowhere else; an operator may allow more in the engine's configuration.
func (d *Docker) Pull(
	ctx context.Context, image pipeline.Image, auth *wire.RegistryAuth,
	progress func(agent.PullProgress),
) error {
	ref := reference(image)
	if image.Insecure && !loopback(image.Registry) {
		return fmt.Errorf("pull %s: plain HTTP is allowed for registries on loopback only", ref)
	}
	present, err := d.imagePresent(ctx, ref)
	if err != nil {
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	if present && image.Digest != "" {
		return nil
	}
	if err := d.pull(ctx, ref, auth, progress); err != nil {
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	return nil
}

func (d *Docker) imagePresent(ctx context.Context, ref string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, err := d.api.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, unavailable(err)
}

func (d *Docker) pull(
	ctx context.Context, ref string, auth *wire.RegistryAuth,
	progress func(agent.PullProgress),
) error {
	var options client.ImagePullOptions
	if auth != nil {
		header, err := authconfig.Encode(registry.AuthConfig{
			Username: auth.Username, Password: auth.Password,
		})
		if err != nil {
			return fmt.Errorf("encode credentials: %w", err)
		}
		options.RegistryAuth = header
	}
	stream, err := d.api.ImagePull(ctx, ref, options)
	if err != nil {
		return acted(err)
	}
	defer func() { _ = stream.Close() }()
	layers := layers{}
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return unavailable(err)
		}
		if message.Error != nil {
			// The engine passes on what the registry said.
			return errors.New(message.Error.Message)
		}
		if layers.add(message) && progress != nil {
			progress(layers.sum())
		}
	}
	return nil
}

// layers adds up the bytes of each layer, since the engine reports them apart.
type layers map[string]agent.PullProgress

func (l layers) add(m jsonstream.Message) bool {
	switch m.Status {
	case "Downloading":
		if m.Progress == nil {
			return false
		}
		// A registry may keep the size to itself.
		total := max(m.Progress.Total, m.Progress.Current)
		l[m.ID] = agent.PullProgress{Done: m.Progress.Current, Total: total}
		return true
	case "Download complete", "Pull complete":
		p, known := l[m.ID]
		l[m.ID] = agent.PullProgress{Done: p.Total, Total: p.Total}
		return known && p.Done != p.Total
	}
	return false
}

func (l layers) sum() agent.PullProgress {
	var s agent.PullProgress
	for _, p := range l {
		s.Done += p.Done
		s.Total += p.Total
	}
	return s
}

// loopback reports whether a registry's host[:port] is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

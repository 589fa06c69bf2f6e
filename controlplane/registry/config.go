package registry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// labelRequires is the label in which an image lists the variables that it does not
// start without, separated by spaces or commas.
const labelRequires = "io.nullops.requires"

// Limits on what an image may declare; whoever built it wrote it.
const (
	mostPorts     = 64
	mostVariables = 200
	mostVolumes   = 64
	mostWords     = 64
	mostText      = 1024
)

// ImageConfig is what an image says about how it runs.
type ImageConfig struct {
	Digest string
	Ports  []ImagePort
	// Env are its variables with their defaults, by name.
	Env []ImageVariable
	// Health is the command of its health check, as Docker runs it; empty without one.
	Health  []string
	User    string
	Volumes []string
	// Requires are the variables that must be set.
	Requires []string
}

// ImagePort is a port that an image listens on.
type ImagePort struct {
	Port     int
	Protocol string
}

// ImageVariable is a variable of an image.
type ImageVariable struct{ Name, Value string }

// DescribeImage reads the configuration of a tag's image. Of an image for several
// processors, it reads the one for amd64, or the first.
func (c *Client) DescribeImage(
	ctx context.Context, s Source, tag string,
) (out ImageConfig, err error) {
	if err := CheckTag("tag", tag); err != nil {
		return out, err
	}
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return out, err
	}
	defer q.cancel()
	d, err := remote.Get(q.repo.Tag(tag), q.options...)
	if err != nil {
		return out, c.explainError(s, tag, q, err)
	}
	if err := isManifest(d.Manifest); err != nil {
		return out, invalidAnswerError(s.Registry.Host, err)
	}
	key := s.cacheKey() + "\x00" + d.Digest.String()
	c.mu.Lock()
	known, ok := c.configs[key]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	file, err := readConfig(d)
	if err != nil {
		return out, c.explainError(s, tag, q, err)
	}
	out = toImageConfig(file.Config)
	out.Digest = d.Digest.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	evictSome(c.configs)
	c.configs[key] = out
	return out, nil
}

func readConfig(d *remote.Descriptor) (*v1.ConfigFile, error) {
	if !d.MediaType.IsIndex() {
		image, err := d.Image()
		if err != nil {
			return nil, err
		}
		return image.ConfigFile()
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) == 0 {
		return nil, errors.New("read index: it lists no image")
	}
	digest := manifest.Manifests[chooseManifest(manifest.Manifests)].Digest
	image, err := index.Image(digest)
	if err != nil {
		return nil, err
	}
	return image.ConfigFile()
}

// chooseManifest is the place of the image for amd64, or of the first one.
func chooseManifest(all []v1.Descriptor) int {
	return max(0, slices.IndexFunc(all, func(d v1.Descriptor) bool {
		return d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == "amd64"
	}))
}

func toImageConfig(c v1.Config) ImageConfig {
	out := ImageConfig{User: clipLabel(c.User), Requires: splitNames(c.Labels[labelRequires])}
	for text := range c.ExposedPorts {
		if p, ok := parsePort(text); ok && len(out.Ports) < mostPorts {
			out.Ports = append(out.Ports, p)
		}
	}
	slices.SortFunc(out.Ports, func(a, b ImagePort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol))
	})
	for _, text := range c.Env[:min(len(c.Env), mostVariables)] {
		name, value, ok := strings.Cut(text, "=")
		if ok && name != "" && len(text) <= mostText {
			out.Env = append(out.Env, ImageVariable{Name: clipLabel(name), Value: value})
		}
	}
	slices.SortStableFunc(out.Env, func(a, b ImageVariable) int {
		return strings.Compare(a.Name, b.Name)
	})
	for path := range c.Volumes {
		if len(out.Volumes) < mostVolumes && strings.HasPrefix(path, "/") {
			out.Volumes = append(out.Volumes, clipLabel(path))
		}
	}
	slices.Sort(out.Volumes)
	if c.Healthcheck != nil {
		out.Health = healthCommand(c.Healthcheck.Test)
	}
	return out
}

// healthCommand is a health check's command; nil where there is none, or where it is
// switched off.
func healthCommand(test []string) []string {
	switch {
	case len(test) < 2 || len(test) > mostWords || len(strings.Join(test, " ")) > mostText:
		return nil
	case test[0] == "CMD":
		return slices.Clone(test[1:])
	case test[0] == "CMD-SHELL":
		return []string{"/bin/sh", "-c", test[1]}
	}
	return nil
}

// parsePort reads a port as images declare it, such as 8080/tcp.
func parsePort(text string) (ImagePort, bool) {
	number, protocol, _ := strings.Cut(text, "/")
	port, err := strconv.Atoi(number)
	if err != nil || port < 1 || port > 65535 {
		return ImagePort{}, false
	}
	return ImagePort{Port: port, Protocol: cmp.Or(clipLabel(protocol), "tcp")}, true
}

// splitNames reads the names of variables in a label.
func splitNames(text string) []string {
	names := strings.FieldsFunc(clipLabel(text), func(r rune) bool { return r == ' ' || r == ',' })
	slices.Sort(names)
	return slices.Compact(names)
}

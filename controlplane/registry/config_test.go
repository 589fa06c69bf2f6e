package registry_test

import (
	"io"
	"log"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/registry"
)

func imageOf(t *testing.T, c v1.Config) v1.Image {
	t.Helper()
	image, err := random.Image(256, 1)
	if err != nil {
		t.Fatal(err)
	}
	if image, err = mutate.Config(image, c); err != nil {
		t.Fatal(err)
	}
	return image
}

func tagOf(t *testing.T, host, tag string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(host+"/shop/api:"+tag, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// What an image declares is read from its configuration, and sorted.
func TestDescribeImage(t *testing.T) {
	t.Parallel()
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	f := startFake(t, inner.ServeHTTP)
	declared := v1.Config{
		ExposedPorts: map[string]struct{}{"9000": {}, "8080/tcp": {}, "53/udp": {}, "99999/tcp": {}},
		Env:          []string{"PATH=/bin", "LOG=debug=1", "bad"},
		Volumes:      map[string]struct{}{"/var/lib/data": {}, "/etc": {}, "relative": {}},
		User:         "app\n",
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD-SHELL", "curl -f localhost"}},
		Labels:       map[string]string{"io.nullops.requires": "TOKEN, API_URL TOKEN"},
	}
	if err := remote.Write(tagOf(t, f.host(), "v1"), imageOf(t, declared)); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, registry.Config{})
	got, err := c.DescribeImage(t.Context(), plainSource(f.host()), "v1")
	if err != nil {
		t.Fatal(err)
	}
	ports := []registry.ImagePort{{Port: 53, Protocol: "udp"}, {Port: 8080, Protocol: "tcp"},
		{Port: 9000, Protocol: "tcp"}}
	env := []registry.ImageVariable{{Name: "LOG", Value: "debug=1"}, {Name: "PATH", Value: "/bin"}}
	if !slices.Equal(got.Ports, ports) || !slices.Equal(got.Env, env) || got.User != "app" ||
		!slices.Equal(got.Volumes, []string{"/etc", "/var/lib/data"}) ||
		!slices.Equal(got.Health, []string{"/bin/sh", "-c", "curl -f localhost"}) ||
		!slices.Equal(got.Requires, []string{"API_URL", "TOKEN"}) || got.Digest == "" {
		t.Errorf("the image says %+v", got)
	}
	if _, err := c.DescribeImage(t.Context(), plainSource(f.host()),
		"nope"); controlplane.CodeOf(err) != "tag_unknown" {
		t.Errorf("a tag that is not there: %v", err)
	}
}

// Of an image for several processors, one is read; without a health check there is none.
func TestDescribeImage_Index(t *testing.T) {
	t.Parallel()
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	f := startFake(t, inner.ServeHTTP)
	index := v1.ImageIndex(empty.Index)
	for arch, port := range map[string]string{"arm64": "1/tcp", "amd64": "2/tcp"} {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: imageOf(t, v1.Config{ExposedPorts: map[string]struct{}{port: {}},
				Healthcheck: &v1.HealthConfig{Test: []string{"NONE"}}}),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	if err := remote.WriteIndex(tagOf(t, f.host(), "v2"), index); err != nil {
		t.Fatal(err)
	}
	got, err := newClient(t, registry.Config{}).DescribeImage(t.Context(), plainSource(f.host()), "v2")
	if err != nil || len(got.Ports) != 1 || got.Ports[0].Port != 2 || got.Health != nil {
		t.Errorf("the image for amd64 says %+v, %v", got, err)
	}
}

package packaging

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Credentials sign in to a registry. The zero value leaves it to what 'docker
// login' keeps for that registry, and is nobody where nothing is kept.
type Credentials struct {
	User, Password string
}

// ParseReference reads HOST[:PORT]/REPOSITORY:TAG. Plain HTTP is spoken to
// loopback addresses only, and to those always.
func ParseReference(ref string) (name.Tag, error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return tag, fmt.Errorf("image %q: give HOST/REPOSITORY:TAG: %w", ref, err)
	}
	if isLoopback(tag.RegistryStr()) {
		return name.NewTag(ref, name.StrictValidation, name.Insecure)
	}
	return tag, nil
}

func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Push uploads what the registry does not have yet. The registry's error message is kept.
func Push(ctx context.Context, ref string, image v1.Image, c Credentials) error {
	tag, err := ParseReference(ref)
	if err != nil {
		return err
	}
	if err := remote.Write(tag, image, c.remoteOptions(ctx)...); err != nil {
		return fmt.Errorf("push %s: %w", ref, explainRefusal(err))
	}
	return nil
}

// Pull fetches an image's description; its layers come when they are read. Of an
// image for several processors it is this machine's.
func Pull(ctx context.Context, ref string, c Credentials) (v1.Image, error) {
	tag, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	options := append(c.remoteOptions(ctx),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	image, err := remote.Image(tag, options...)
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", ref, explainRefusal(err))
	}
	return image, nil
}

func (c Credentials) remoteOptions(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(c)}
}

// Resolve makes credentials a keychain, which is queried for one registry at a time.
func (c Credentials) Resolve(registry authn.Resource) (authn.Authenticator, error) {
	if c != (Credentials{}) {
		return &authn.Basic{Username: c.User, Password: c.Password}, nil
	}
	kept, err := authn.DefaultKeychain.Resolve(registry)
	if err != nil {
		return nil, fmt.Errorf("what 'docker login' keeps for %s: %w", registry.RegistryStr(), err)
	}
	return kept, nil
}

// ForImage returns the credentials for an image's registry as user and password. Those that are a
// token are for this package only, and left out.
func (c Credentials) ForImage(ctx context.Context, ref string) (Credentials, error) {
	tag, err := ParseReference(ref)
	if err != nil {
		return c, err
	}
	kept, err := c.Resolve(tag.Registry)
	if err != nil {
		return c, err
	}
	is, err := authn.Authorization(ctx, kept)
	if err != nil {
		return c, fmt.Errorf("what 'docker login' keeps for %s: %w", tag.RegistryStr(), err)
	}
	return Credentials{User: is.Username, Password: is.Password}, nil
}

// explainRefusal adds a remedy to the answers that need one.
func explainRefusal(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized ||
		answer.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("the registry refuses the credentials, or wants some: %w", err)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"
)

// runPush builds, then pushes what the registry does not have yet.
func runPush(ctx context.Context, o options, out io.Writer) error {
	if o.to == "" {
		return errors.New("--to is missing; give the registry as host:port")
	}
	images, err := buildAll(ctx, o, out)
	if err != nil {
		return err
	}
	pushed, err := pushImages(ctx, o.to, images)
	if err != nil {
		return fmt.Errorf("push to %s: %w", o.to, err)
	}
	_, _ = fmt.Fprintf(out, "%d images on %s, %d of them new\n", len(images), o.to, pushed)
	return nil
}

// credentials are those that 'docker login' has stored, if any.
func credentials() remote.Option { return remote.WithAuthFromKeychain(authn.DefaultKeychain) }

// pushImages returns how many were not there yet.
func pushImages(ctx context.Context, registry string, images []built) (int, error) {
	pusher, err := remote.NewPusher(remote.WithContext(ctx), remote.WithJobs(4), credentials())
	if err != nil {
		return 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	news := make(chan struct{}, len(images))
	for _, b := range images {
		group.Go(func() error {
			ref, err := name.ParseReference(registry+"/"+b.ref(), name.Insecure)
			if err != nil {
				return err
			}
			there, err := hasImage(ctx, ref, b.digest.String())
			if err != nil || there {
				return err
			}
			news <- struct{}{}
			if err := pusher.Push(ctx, ref, b.image); err != nil {
				return fmt.Errorf("%s: %w", b.ref(), err)
			}
			return nil
		})
	}
	err = group.Wait()
	return len(news), err
}

// hasImage asks for the tag's digest only.
func hasImage(ctx context.Context, ref name.Reference, digest string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	there, err := remote.Head(ref, remote.WithContext(ctx), credentials())
	if err == nil {
		return there.Digest.String() == digest, nil
	}
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return false, nil
	}
	return false, err
}

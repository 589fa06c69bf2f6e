package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// defaultPullPatience is how long a registry may send nothing. The engine detects a broken
// connection by itself, but waits indefinitely on a silent one.
const defaultPullPatience = 2 * time.Minute

// checkRegistryAccess requests the manifest with the deployment's own credentials, to see
// whether it may use the image. The engine makes the request, since it knows how to reach
// the registry.
func (im *images) checkRegistryAccess(ctx context.Context, ref, header string) error {
	patient, cancel := context.WithTimeout(ctx, im.config.PullPatience)
	defer cancel()
	_, err := im.api.DistributionInspect(patient, ref,
		client.DistributionInspectOptions{EncodedRegistryAuth: header})
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return im.silentErr()
	}
	return wrapRegistryErr(err)
}

// findRegistryReason replaces the error of a pull by the registry's own reason, where the engine
// has not read it. An engine whose images containerd keeps asks for manifests with HEAD, and
// answers to HEAD have no body: it reports a status, or that nothing was found. The same question
// with GET brings the reason. An error that is not about that stays.
func (im *images) findRegistryReason(ctx context.Context, ref, header string, err error) error {
	text := err.Error()
	if ctx.Err() != nil || !strings.Contains(text, "failed to resolve reference") ||
		!strings.Contains(text, "from HEAD request") && !strings.HasSuffix(text, "not found") {
		return err
	}
	reason := im.checkRegistryAccess(ctx, ref, header)
	if reason == nil || errors.Is(reason, agent.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return reason
}

// silentErr is the error for a registry that sent nothing for too long.
func (im *images) silentErr() error {
	return fmt.Errorf("the registry has sent nothing for %s", im.config.PullPatience)
}

// wrapRegistryErr classifies the error of a call in which the engine talks to a registry. A
// status such as "unavailable" or "too many requests" is then the registry's: the engine
// uses none itself for these calls.
func wrapRegistryErr(err error) error {
	if errdefs.IsUnavailable(err) || errdefs.IsResourceExhausted(err) || errdefs.IsUnknown(err) {
		return err
	}
	return wrapMutationErr(err)
}

// pullWatched pulls the image, and fails if the registry sends nothing for PullPatience. If a
// connection breaks in the middle of a layer, the engine resumes the layer by itself, a few times.
func (im *images) pullWatched(
	ctx context.Context, ref, header string, progress func(agent.PullProgress),
) error {
	patient, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(im.config.PullPatience, func() { stop(im.silentErr()) })
	defer watch.Stop()
	err := im.readPull(patient, ref, header, func(l pullLayers, news bool) {
		switch {
		case !l.isDownloading():
			// Unpacking a large layer is the engine's own work, and has no bound.
			watch.Stop()
		case news:
			// An engine whose images containerd keeps reports ten times a second, also what has
			// not changed.
			watch.Reset(im.config.PullPatience)
		}
		if news && progress != nil {
			progress(l.sumProgress())
		}
	})
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return context.Cause(patient)
	}
	return err
}

// readPull reads the engine's progress messages of a pull to their end.
func (im *images) readPull(
	ctx context.Context, ref, header string, told func(l pullLayers, news bool),
) error {
	stream, err := im.api.ImagePull(ctx, ref, client.ImagePullOptions{RegistryAuth: header})
	if err != nil {
		return wrapRegistryErr(err)
	}
	defer func() { _ = stream.Close() }()
	all := pullLayers{}
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return wrapUnavailable(err)
		}
		if message.Error != nil {
			// The engine passes on the registry's error text.
			return errors.New(message.Error.Message)
		}
		told(all, all.addMessage(message))
	}
	return nil
}

// pullLayers adds up the bytes of each layer, since the engine reports them apart.
type pullLayers map[string]layerProgress

type layerProgress struct {
	done, total int64
	here        bool
}

// addMessage takes a message in, and reports whether it changes the sum.
func (l pullLayers) addMessage(m jsonstream.Message) bool {
	was, known := l[m.ID]
	now := was
	switch m.Status {
	case "Pulling fs layer", "Waiting":
	case "Downloading":
		if m.Progress == nil {
			return false
		}
		now.done = m.Progress.Current
		// A registry may keep the size to itself.
		now.total = max(m.Progress.Total, m.Progress.Current)
	case "Verifying Checksum", "Download complete", "Pull complete", "Already exists":
		now.done, now.here = now.total, true
	default:
		return false
	}
	l[m.ID] = now
	return !known || was != now
}

// isDownloading reports whether some layer is not completely downloaded.
func (l pullLayers) isDownloading() bool {
	for _, one := range l {
		if !one.here {
			return true
		}
	}
	return len(l) == 0
}

func (l pullLayers) sumProgress() agent.PullProgress {
	s := agent.PullProgress{Layers: len(l)}
	for _, one := range l {
		s.Done += one.done
		s.Total += one.total
		if one.here {
			s.LayersDone++
		}
	}
	return s
}

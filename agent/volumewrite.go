package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// errOtherAttempt ends a write that is outdated: its sender was disconnected for so long
// that another attempt, or none, may now write the volume.
var errOtherAttempt = errors.New("the volume is not this attempt's to write any more")

// serveWriteVolume replaces a volume with the request's body, for as long as the goal names
// this attempt. Only one request at a time writes: an earlier attempt has ended before a
// later one begins.
func (vs *volumeServer) serveWriteVolume(w http.ResponseWriter, r *http.Request) {
	end, err := vs.lockVolumes(r.Context(), r.PathValue("id"))
	if err != nil {
		return
	}
	defer end()
	c, v, ok := vs.findVolume(w, r, replaceVolume)
	if !ok {
		return
	}
	if r.Header.Get(wire.HeaderAttempt) != c.goal.Attempt {
		http.Error(w, errOtherAttempt.Error(), http.StatusConflict)
		return
	}
	ctx, stop := vs.cancelOnNewAttempt(r.Context(), c.goal)
	defer stop()
	// A paused sender sends nothing, and does not end the request either.
	defer context.AfterFunc(ctx, func() {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	})()
	sum, err := writeAndHash(ctx, c.carrier, v, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answerJSON(w, wire.VolumeWritten{Sum: sum})
}

// writeAndHash writes the volume and returns the SHA-256 of the whole stream.
func writeAndHash(
	ctx context.Context,
	to VolumeCopier,
	v VolumeName,
	from io.Reader,
) (string, error) {
	sum := sha256.New()
	content := io.TeeReader(from, sum)
	err := to.WriteVolume(ctx, v, content)
	if err == nil {
		// The engine need not have read what follows the last entry.
		_, err = io.Copy(io.Discard, content)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// lockVolumes waits until no other request writes to the deployment's volumes.
func (vs *volumeServer) lockVolumes(
	ctx context.Context, deployment string,
) (end func(), err error) {
	mine := make(chan struct{})
	for {
		vs.mu.Lock()
		other := vs.writing[deployment]
		if other == nil {
			vs.writing[deployment] = mine
		}
		vs.mu.Unlock()
		if other == nil {
			return func() {
				vs.mu.Lock()
				delete(vs.writing, deployment)
				vs.mu.Unlock()
				close(mine)
			}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// cancelOnNewAttempt returns a context that ends when the goal no longer names this
// attempt. stop waits for its goroutine.
func (vs *volumeServer) cancelOnNewAttempt(ctx context.Context, goal *wire.Goal) (
	_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			news := vs.published.nextSignal()
			v, _ := vs.viewOf(goal.Deployment)
			if g := v.goal; g == nil || g.Want != wire.WantPresent || !g.Still ||
				g.Attempt != goal.Attempt {
				cancel(errOtherAttempt)
				return
			}
			select {
			case <-news:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() { cancel(nil); looking.Wait() }
}

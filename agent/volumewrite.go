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

// errOtherAttempt ends a write whose time has passed: whoever makes it was away for so
// long that somebody else copies now, or nobody any more.
var errOtherAttempt = errors.New("the volume is not this attempt's to write any more")

// serveWriteVolume takes a volume in, for as long as the goal is to have it from
// whoever sends it. Of several only one writes: what an earlier attempt is doing
// has ended when a later one begins.
func (a *Agent) serveWriteVolume(w http.ResponseWriter, r *http.Request) {
	end, err := a.soleWriter(r.Context(), r.PathValue("id"))
	if err != nil {
		return
	}
	defer end()
	c, v, ok := a.volume(w, r, true)
	if !ok {
		return
	}
	if r.Header.Get(wire.HeaderAttempt) != c.goal.Attempt {
		http.Error(w, errOtherAttempt.Error(), http.StatusConflict)
		return
	}
	ctx, stop := a.whileAttempt(r.Context(), c.goal)
	defer stop()
	// Who is paused sends nothing, and does not end the request either.
	defer context.AfterFunc(ctx, func() {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	})()
	sum, err := take(ctx, c.carrier, v, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answerJSON(w, wire.VolumeWritten{Sum: sum})
}

// take gives the sum of the whole stream.
func take(ctx context.Context, to Carrier, v VolumeName, from io.Reader) (string, error) {
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

// soleWriter waits until nobody else writes to the deployment's volumes.
func (a *Agent) soleWriter(ctx context.Context, deployment string) (end func(), err error) {
	mine := make(chan struct{})
	for {
		a.mu.Lock()
		other := a.writing[deployment]
		if other == nil {
			a.writing[deployment] = mine
		}
		a.mu.Unlock()
		if other == nil {
			return func() {
				a.mu.Lock()
				delete(a.writing, deployment)
				a.mu.Unlock()
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

// whileAttempt ends the context once the goal is no longer to have the volumes
// written by the same attempt. stop returns when nobody looks any more.
func (a *Agent) whileAttempt(ctx context.Context, goal *wire.Goal) (
	_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			news := a.published.next()
			v, _ := a.view(goal.Deployment)
			if g := v.goal; g == nil || g.Want != wire.WantPresent || !g.Elsewhere || !g.Still ||
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

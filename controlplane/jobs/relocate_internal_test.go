package jobs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// deaf is nodes that take a question and never answer, unless they have pieces to send.
type deaf struct{ pieces int }

func (deaf) Volumes(ctx context.Context, _ controlplane.NodeID, _ controlplane.DeploymentID,
	_ bool) (s controlplane.VolumesState, err error) {
	<-ctx.Done()
	return s, ctx.Err()
}

func (d deaf) CopyVolume(
	ctx context.Context, _ controlplane.VolumeCopy, moved func(int) error,
) error {
	for range d.pieces {
		// Each almost too late.
		select {
		case <-time.After(noBytesFor - time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := moved(marginBytes); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func newRelocationTask() controlplane.RelocationTask {
	return controlplane.RelocationTask{Volumes: []controlplane.VolumeName{{Step: "db", Name: "data"}}}
}

// None of the questions to a node that never answers continues for ever.
func TestRelocate_NodeNeverAnswers(t *testing.T) {
	for name, ask := range map[string]func(context.Context) error{
		"measure": func(ctx context.Context) error {
			_, err := measureVolumes(ctx, deaf{}, "node", "deployment")
			return err
		},
		"await": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, stillWithin)
			defer cancel()
			_, err := awaitStill(ctx, deaf{}, "node", "deployment")
			return err
		},
		"first byte": func(ctx context.Context) error {
			return copyAll(ctx, deaf{}, newRelocationTask().Copies(), 0, &atomic.Int64{}, nil)
		},
		"next byte": func(ctx context.Context) error {
			return copyAll(ctx, deaf{pieces: 1}, newRelocationTask().Copies(), 0, &atomic.Int64{}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				if err := ask(ctx); err == nil || ctx.Err() != nil {
					t.Errorf("it went on for a day: %v", err)
				}
			})
		})
	}
}

// A copy takes what there is room for, and not a piece more.
func TestRelocate_CopyIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		grew  func(int64) (int64, error)
		bytes int64
		want  string
	}{
		"no more": {bytes: 2 * marginBytes, want: "no room",
			grew: func(int64) (int64, error) { return 0, errors.New("no room") }},
		"more": {bytes: 10 * marginBytes, want: "nowhere",
			grew: func(bytes int64) (int64, error) { return 2 * bytes, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var done atomic.Int64
				err := copyAll(t.Context(), deaf{pieces: 10}, newRelocationTask().Copies(), 0, &done, c.grew)
				if err == nil || !strings.Contains(err.Error(), c.want) || done.Load() != c.bytes {
					t.Errorf("after %d bytes: %v", done.Load(), err)
				}
			})
		})
	}
}

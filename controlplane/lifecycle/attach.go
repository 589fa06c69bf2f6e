package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// mostAttempts spreads over a day, with the pauses of pauseAfter.
	mostAttempts = 40
	// attachedAtOnce bounds one round.
	attachedAtOnce  = 20
	shortestAttach  = 10 * time.Second
	longestAttach   = time.Hour
	maxAttachReason = 1000
	// attachRound is how long one round goes on: a registry that never answers must not hold up what
	// else is to be done. What is left is claimed again when its claim is over.
	attachRound = 30 * time.Second
	attachClaim = 2 * time.Minute
)

// AttachVerdicts attaches the statements of verdicts to images in their registries, as far as it is
// time for that. What fails is tried again for a day; the verdict stands without it.
func (l *Lifecycle) AttachVerdicts(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var due []controlplane.PendingAttachment
	err := l.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		due, err = tx.Verdicts().ClaimImages(ctx, attachClaim, mostAttempts, attachedAtOnce)
		return err
	})
	end := time.Now().Add(attachRound)
	for _, p := range due {
		if time.Now().After(end) {
			break
		}
		err = errors.Join(err, l.attachVerdict(ctx, actor, p))
	}
	return err
}

func (l *Lifecycle) attachVerdict(
	ctx context.Context, actor access.Actor, p controlplane.PendingAttachment,
) error {
	failure := l.catalog.AttachStatement(ctx, actor, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	problem := ""
	if failure != nil {
		problem = "this failed on our side; the log of the control plane says more"
		if said, ok := errors.AsType[*controlplane.Error](failure); ok {
			problem = said.Message
		} else {
			l.log.WarnContext(ctx, "a verdict was not attached", "image", p.Image, "error", failure)
		}
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Verdicts().RecordAttachment(ctx, p, problem[:min(len(problem), maxAttachReason)],
			time.Now().Add(pauseAfter(p.Attempts)))
	})
}

// pauseAfter grows with the attempts: a registry may be down for long.
func pauseAfter(attempts int) time.Duration {
	return min(shortestAttach<<min(attempts, 12), longestAttach)
}

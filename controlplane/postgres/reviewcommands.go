package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// AddCommand stores what somebody wrote below a pull request. It reports false while too many of
// the same pull request wait.
func (t Reviews) AddCommand(ctx context.Context, c controlplane.ReviewCommand) (bool, error) {
	n, err := t.q.InsertReviewCommand(ctx, dbsqlc.InsertReviewCommandParams{
		ID: string(controlplane.NewID[controlplane.ReviewCommandID]()), Verb: c.Verb,
		Argument: c.Argument,
		Author:   c.Author, AuthorID: c.AuthorID, ReviewID: string(c.Review)})
	if err == nil && n > 0 {
		err = t.q.WakeReview(ctx, string(c.Review))
	}
	if err != nil {
		return false, fmt.Errorf("store a command: %w", translateError(err))
	}
	return n > 0, nil
}

// ListWaitingCommands returns what was not done yet, the oldest first.
func (t Reviews) ListWaitingCommands(
	ctx context.Context, id controlplane.ReviewID,
) ([]controlplane.ReviewCommand, error) {
	rows, err := t.q.ListWaitingCommands(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list commands: %w", err)
	}
	return toReviewCommands(rows), nil
}

// ListLastCommands returns what was done last, the oldest first: the commands of one comment, and
// of others of the same minute.
func (t Reviews) ListLastCommands(
	ctx context.Context, id controlplane.ReviewID,
) ([]controlplane.ReviewCommand, error) {
	rows, err := t.q.ListLastCommands(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("load the last commands: %w", err)
	}
	slices.Reverse(rows)
	return toReviewCommands(rows), nil
}

// AnswerCommand stores what became of a command.
func (t Reviews) AnswerCommand(
	ctx context.Context, id controlplane.ReviewCommandID, answer string,
) error {
	if err := t.q.AnswerCommand(ctx, answer, string(id)); err != nil {
		return fmt.Errorf("answer a command: %w", translateError(err))
	}
	return nil
}

// Restart has what a review wants made again, as after an event.
func (t Reviews) Restart(
	ctx context.Context, r controlplane.Review, giveUp time.Time,
) error {
	if err := t.q.RestartReview(ctx, giveUp, string(r.ID), r.Generation); err != nil {
		return fmt.Errorf("restart review: %w", translateError(err))
	}
	return nil
}

func toReviewCommands(rows []dbsqlc.ReviewCommand) []controlplane.ReviewCommand {
	all := make([]controlplane.ReviewCommand, len(rows))
	for i, r := range rows {
		all[i] = controlplane.ReviewCommand{ID: controlplane.ReviewCommandID(r.ID),
			Review: controlplane.ReviewID(r.ReviewID), Verb: r.Verb, Argument: r.Argument,
			Author: r.Author, AuthorID: r.AuthorID, At: r.At, Answer: r.Answer}
	}
	return all
}

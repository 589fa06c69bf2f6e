package sources

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/documents"
	"github.com/nullops/nullops/internal/gitfetch"
)

// SyncSource looks at a source now, and returns what was found.
func (s *Sources) SyncSource(
	ctx context.Context, actor access.Actor, name string,
) (x controlplane.DefinitionSource, err error) {
	err = s.changeSource(ctx, actor, "sync source", name, func(tx *postgres.Tx) error {
		_, err := tx.DefinitionSources().ByName(ctx, name)
		return err
	})
	if err != nil {
		return x, err
	}
	if x, err = s.claimByName(ctx, name); err != nil {
		return x, err
	}
	return s.lookAt(ctx, x)
}

// ApplySource applies exactly this commit in the name of the person who confirms it: the one that
// was found, or the one that was applied, to undo what drifted.
func (s *Sources) ApplySource(
	ctx context.Context, actor access.Actor, name, commit string,
) (x controlplane.DefinitionSource, err error) {
	err = s.changeSource(ctx, actor, "apply source", name, func(tx *postgres.Tx) error {
		if x, err = tx.DefinitionSources().ByName(ctx, name); err != nil {
			return err
		}
		return checkCommit(x, commit)
	})
	if err != nil {
		return x, err
	}
	if x, err = s.claimByName(ctx, name); err != nil {
		return x, err
	}
	// It may have been looked at since.
	if err := checkCommit(x, commit); err != nil {
		return x, errors.Join(err, s.saveState(ctx, x, time.Now(), time.Now()))
	}
	var moved error
	x, err = s.runClaimed(ctx, x, func(ctx context.Context, x *controlplane.DefinitionSource) error {
		if x.State.Found.Hash != commit || x.State.IsApplied() {
			return s.applyAgain(ctx, x, actor)
		}
		// Somebody may have pushed since the last look.
		docs, err := s.readTip(ctx, x)
		if err != nil {
			return err
		}
		if x.State.Found.Hash != commit {
			moved = commitChanged(*x)
			return s.lookAtBranch(ctx, x)
		}
		return s.applyFound(ctx, x, docs, actor.Name())
	})
	if moved != nil {
		return x, moved
	}
	return x, err
}

// checkCommit refuses a commit that is no longer what people were shown.
func checkCommit(x controlplane.DefinitionSource, commit string) error {
	for _, known := range []*controlplane.SourceCommit{x.State.Found, x.State.Applied} {
		if known != nil && known.Hash == commit {
			return nil
		}
	}
	return commitChanged(x)
}

func commitChanged(x controlplane.DefinitionSource) error {
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "commit_changed", Field: "commit",
		Message: "the source " + x.Name + " is at another commit by now",
		Remedy:  "Look at what that one would change, and apply it."}
}

// claimByName takes a source, so that nobody else looks at it meanwhile.
func (s *Sources) claimByName(
	ctx context.Context, name string,
) (x controlplane.DefinitionSource, err error) {
	const tries, pause = 20, 250 * time.Millisecond
	for range tries {
		claimed := false
		err := s.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
			if x, err = tx.DefinitionSources().ByName(ctx, name); err != nil {
				return err
			}
			x, claimed, err = tx.DefinitionSources().Claim(ctx, x.ID, holdFor)
			return err
		})
		if err != nil || claimed {
			return x, err
		}
		select {
		case <-ctx.Done():
			return x, ctx.Err()
		case <-time.After(pause):
		}
	}
	return x, controlplane.NewConflictError("sync_running",
		"the source "+name+" is being looked at", "Try again in a moment.")
}

// lookAt looks at a claimed source.
func (s *Sources) lookAt(
	ctx context.Context, x controlplane.DefinitionSource,
) (controlplane.DefinitionSource, error) {
	return s.runClaimed(ctx, x, s.lookAtBranch)
}

// runClaimed runs a step with a claimed source, and stores how it stands then. What is the
// repository's fault becomes part of that and is no error.
func (s *Sources) runClaimed(ctx context.Context, x controlplane.DefinitionSource,
	step func(context.Context, *controlplane.DefinitionSource) error,
) (out controlplane.DefinitionSource, err error) {
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	failed := func() (err error) {
		defer controlplane.CatchPanic(ctx, s.Log, "a source of definitions", &err)
		return step(within, &x)
	}()
	if ctx.Err() != nil {
		// The program ends, or whoever asked is gone: that says nothing about the source.
		return x, errors.Join(failed, s.saveState(ctx, x, began, began))
	}
	now := time.Now().UTC()
	x.State.CheckedAt = &now
	failure, known := s.failureOf(failed, x)
	if known {
		failed = nil
	}
	x.State.Failure = failure
	if failure == nil {
		x.State.FailingSince = nil
	} else {
		x.Status = controlplane.SourceFailed
		if x.State.FailingSince == nil {
			x.State.FailingSince = &now
		}
	}
	return x, errors.Join(failed, s.saveState(ctx, x, began, now.Add(pauseAfter(x, now))))
}

// saveState stores how a source stands, and ends its claim.
func (s *Sources) saveState(
	ctx context.Context, x controlplane.DefinitionSource, began, due time.Time,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return s.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.DefinitionSources().Save(ctx, x, began, due)
	})
}

// pauseAfter is how long until the next look.
func pauseAfter(x controlplane.DefinitionSource, now time.Time) time.Duration {
	if x.State.FailingSince == nil {
		return x.Period
	}
	// As long again as it has failed so far.
	return min(max(retryAfter, now.Sub(*x.State.FailingSince)), x.Period)
}

// failureOf says what people are shown; false for an error that is ours, of which they see no more
// than that.
func (s *Sources) failureOf(
	err error, x controlplane.DefinitionSource,
) (*controlplane.SourceFailure, bool) {
	switch refused, ok := errors.AsType[*failedError](err); {
	case err == nil:
		return nil, true
	case ok:
		return &refused.failure, true
	}
	fetched, ok := errors.AsType[*gitfetch.Error](err)
	switch {
	case ok:
		return &controlplane.SourceFailure{Code: fetched.Code, Message: fetched.Message,
			Remedy: fetched.Remedy}, true
	case errors.Is(err, context.DeadlineExceeded):
		return &controlplane.SourceFailure{Code: "host_slow",
			Message: "reading the repository takes too long",
			Remedy:  "It is tried again by itself. If it stays, look at the host."}, true
	}
	out, known := toFailure(err, nil)
	if !known {
		s.Log.Warn("source of definitions failed", "source", x.Name, "error", err)
		out = &controlplane.SourceFailure{Code: "internal", Message: "this failed on our side",
			Remedy: "It is tried again by itself. The log of the control plane says more."}
	}
	return out, known
}

func isRefusal(err error) bool { _, ok := errors.AsType[*failedError](err); return ok }

// failedError is a refusal with the places of its problems.
type failedError struct{ failure controlplane.SourceFailure }

func (e *failedError) Error() string { return e.failure.Message }

// refusalOf puts the problems of documents at their lines, and names the commit.
func refusalOf(err error, docs []documents.Document, commit string) error {
	failure, known := toFailure(err, docs)
	if !known {
		return err
	}
	failure.Commit = commit
	return &failedError{*failure}
}

// lookAtBranch reads the branch, and finds or applies what differs.
func (s *Sources) lookAtBranch(ctx context.Context, x *controlplane.DefinitionSource) error {
	docs, err := s.readTip(ctx, x)
	if err != nil {
		return err
	}
	// What hinders the commit that was applied is no reason not to look at a newer one.
	if err := s.findDrift(ctx, x); err != nil && (x.State.IsApplied() || !isRefusal(err)) {
		return err
	}
	if x.State.IsApplied() {
		x.Status, x.State.Changes = controlplane.SourceSynced, nil
		return nil
	}
	changes, unlisted, err := s.tryDocuments(ctx, *x, docs)
	if err != nil {
		return refusalOf(err, docs, x.State.Found.Hash)
	}
	x.State.Changes, x.State.Unlisted = keepDifferent(changes), unlisted
	unchanged := x.State.Applied != nil && len(x.State.Changes) == 0
	if x.Mode == controlplane.SourceAutomatic || unchanged {
		return s.applyFound(ctx, x, docs, "")
	}
	x.Status = controlplane.SourceWaiting
	return nil
}

// readTip reads the documents at the tip of the branch, and keeps the files.
func (s *Sources) readTip(
	ctx context.Context, x *controlplane.DefinitionSource,
) ([]documents.Document, error) {
	repository, done, err := s.repositoryOf(ctx, *x)
	if err != nil {
		return nil, err
	}
	defer done()
	tip, err := repository.Tip(ctx)
	if err != nil {
		return nil, err
	}
	if f := x.State.Found; f != nil && f.Hash == tip && x.State.FoundGeneration == x.Generation {
		return s.loadDocuments(ctx, *x, tip)
	}
	got, err := repository.Fetch(ctx, x.Folder, isRead)
	if err != nil {
		return nil, err
	}
	files := make([]controlplane.SourceFile, len(got.Files))
	for i, f := range got.Files {
		files[i] = controlplane.SourceFile{Path: f.Path, Text: string(f.Text)}
		if strings.ContainsRune(files[i].Text, 0) {
			return nil, refusalOf(documents.ErrorOf([]documents.Problem{{File: f.Path,
				Message: "this is no text"}}), nil, got.Commit)
		}
	}
	docs, err := readDocuments(*x, files)
	if err != nil {
		return nil, refusalOf(err, docs, got.Commit)
	}
	x.State.Found = &controlplane.SourceCommit{Hash: got.Commit, Subject: got.Subject,
		Author: got.Author, At: got.At}
	// With other settings, the same commit may be another set of documents.
	x.State.FoundGeneration = x.Generation
	return docs, s.Store.InTx(ctx, func(tx *postgres.Tx) error {
		keep := []string{got.Commit}
		if x.State.Applied != nil {
			keep = append(keep, x.State.Applied.Hash)
		}
		if err := tx.DefinitionSources().PutFiles(ctx, x.ID, got.Commit, files); err != nil {
			return err
		}
		return tx.DefinitionSources().KeepFiles(ctx, x.ID, keep...)
	})
}

// loadDocuments reads the documents of a commit that was read before.
func (s *Sources) loadDocuments(
	ctx context.Context, x controlplane.DefinitionSource, commit string,
) (docs []documents.Document, err error) {
	var files []controlplane.SourceFile
	err = s.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		files, err = tx.DefinitionSources().Files(ctx, x.ID, commit)
		return err
	})
	if err != nil {
		return nil, err
	}
	if docs, err = readDocuments(x, files); err != nil {
		return nil, refusalOf(err, docs, commit)
	}
	return docs, nil
}

// tryDocuments finds what applying documents would do.
func (s *Sources) tryDocuments(
	ctx context.Context, x controlplane.DefinitionSource, docs []documents.Document,
) ([]controlplane.DefinitionChange, []controlplane.Definition, error) {
	changes, unlisted, err := s.apply(ctx, worker,
		Set{Owner: x.Name, Documents: docs, Removes: x.Removes, DryRun: true})
	for i := range changes {
		if at := changes[i].Document; at != nil {
			changes[i].File, changes[i].Line = docs[*at].File, docs[*at].LineOf("", "")
		}
	}
	return changes, unlisted, err
}

func keepDifferent(all []controlplane.DefinitionChange) []controlplane.DefinitionChange {
	return slices.DeleteFunc(all, func(c controlplane.DefinitionChange) bool {
		return c.Action == "unchanged"
	})
}

// applyFound applies the commit that was found. by is who confirmed it, if anybody had to.
func (s *Sources) applyFound(ctx context.Context, x *controlplane.DefinitionSource,
	docs []documents.Document, by string) error {
	found := *x.State.Found
	_, unlisted, err := s.applyFor(ctx, *x, docs, found.Hash)
	if err != nil {
		return refusalOf(err, docs, found.Hash)
	}
	now := time.Now().UTC()
	x.State.Applied, x.State.AppliedAt, x.State.AppliedBy = &found, &now, by
	x.State.AppliedGeneration = x.State.FoundGeneration
	x.State.Changes, x.State.Drift, x.State.Unlisted = nil, nil, unlisted
	x.Status = controlplane.SourceSynced
	return s.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.DefinitionSources().KeepFiles(ctx, x.ID, found.Hash)
	})
}

// applyAgain applies the commit that was applied last again: what drifted is as it was.
func (s *Sources) applyAgain(
	ctx context.Context, x *controlplane.DefinitionSource, actor access.Actor,
) error {
	commit := x.State.Applied.Hash
	docs, err := s.loadDocuments(ctx, *x, commit)
	if err != nil {
		return err
	}
	if _, _, err := s.applyFor(ctx, *x, docs, commit); err != nil {
		return refusalOf(err, docs, commit)
	}
	now := time.Now().UTC()
	x.State.AppliedAt, x.State.AppliedBy, x.State.Drift = &now, actor.Name(), nil
	if x.Status = controlplane.SourceWaiting; x.State.IsApplied() {
		x.Status = controlplane.SourceSynced
	}
	return nil
}

// applyFor applies documents with the rights of the source's owner.
func (s *Sources) applyFor(ctx context.Context, x controlplane.DefinitionSource,
	docs []documents.Document, commit string,
) ([]controlplane.DefinitionChange, []controlplane.Definition, error) {
	if err := s.checkOwner(ctx, x); err != nil {
		return nil, nil, err
	}
	return s.apply(ctx, actorOf(x).AtCommit(commit),
		Set{Owner: x.Name, Documents: docs, Removes: x.Removes})
}

// actorOf is who the audit names for what a source does.
func actorOf(x controlplane.DefinitionSource) access.Actor {
	return access.System("source " + x.Name)
}

// checkOwner refuses to apply in the name of somebody who is no admin any more.
func (s *Sources) checkOwner(ctx context.Context, x controlplane.DefinitionSource) error {
	var owner controlplane.User
	if x.OwnerID != "" {
		err := s.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
			owner, err = tx.Users().ForAccess(ctx, x.OwnerID)
			return err
		})
		if _, err := controlplane.IsFound(err); err != nil {
			return err
		}
	}
	if owner.Active && owner.Role == controlplane.RoleAdmin {
		return nil
	}
	return &controlplane.Error{Kind: controlplane.Forbidden, Code: "owner_no_admin",
		Message: x.Owner + ", in whose name this source applies, is no active admin any more",
		Remedy:  "An admin has to save the source again: it applies in their name then."}
}

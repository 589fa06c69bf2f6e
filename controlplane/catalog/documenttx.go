package catalog

import (
	"context"
	"errors"
	"sync"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
)

// ChangeInOneTx runs fn in one transaction: whatever use cases it calls with its context change
// everything or, when it returns an error, nothing. A dry run does the same work and always rolls
// back. fn may run more than once, and must not keep state from an earlier run.
//
// No container registry is asked while the transaction is open, since it locks what
// it has changed, and the audit journal. The first run collects what has to be asked
// and is rolled back; the next one has the answers.
func (c *Catalog) ChangeInOneTx(
	ctx context.Context, actor access.Actor, dryRun bool, fn func(context.Context) error,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	answers := &digestAnswers{known: map[digestQuestion]digestAnswer{}}
	inside := context.WithValue(ctx, digestAnswersKey{}, answers)
	const rounds = 3
	for range rounds {
		var refused error
		answers.wanted = map[digestQuestion]registry.Source{}
		err := c.store.InSharedTx(inside, func(ctx context.Context) error {
			clear(answers.wanted)
			refused = fn(ctx)
			if dryRun || len(answers.wanted) > 0 {
				return errors.Join(postgres.ErrRollback, refused)
			}
			return refused
		})
		switch {
		case err != nil && !errors.Is(err, postgres.ErrRollback):
			return err
		case len(answers.wanted) == 0:
			return refused
		}
		c.askDigests(ctx, answers)
	}
	return controlplane.NewConflictError(
		"changed_meanwhile", "the registries of plugins changed again and again "+
			"while the documents were checked", "Try again.")
}

type digestAnswersKey struct{}

// digestQuestion is a tag in a repository. Registries with one host may differ in their
// credentials, so they are distinguished by name.
type digestQuestion struct{ registry, host, repository, tag string }

type digestAnswer struct {
	digest string
	err    error
}

// digestAnswers are the registries' answers from before a shared transaction.
type digestAnswers struct {
	known map[digestQuestion]digestAnswer
	// wanted are questions that came up inside and are not answered yet.
	wanted map[digestQuestion]registry.Source
}

// placeholderDigest replaces an answer that is not known yet. It is always rolled back.
const placeholderDigest = "sha256:" +
	"0000000000000000000000000000000000000000000000000000000000000000"

// resolveDigest asks the registry what a tag means now, or, in a shared transaction,
// notes that it has to be asked.
func (c *Catalog) resolveDigest(
	ctx context.Context, s registry.Source, tag string,
) (string, error) {
	answers, ok := ctx.Value(digestAnswersKey{}).(*digestAnswers)
	if !ok {
		return c.images.Resolve(ctx, s, tag)
	}
	q := digestQuestion{s.Registry.Name, s.Registry.Host, s.Repository, tag}
	if a, ok := answers.known[q]; ok {
		return a.digest, a.err
	}
	answers.wanted[q] = s
	return placeholderDigest, nil
}

// askDigests asks several registries at a time, and each only once.
func (c *Catalog) askDigests(ctx context.Context, answers *digestAnswers) {
	const atOnce = 8
	var group sync.WaitGroup
	var mu sync.Mutex
	places := make(chan struct{}, atOnce)
	for q, source := range answers.wanted {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			digest, err := c.images.Resolve(ctx, source, q.tag)
			mu.Lock()
			defer mu.Unlock()
			answers.known[q] = digestAnswer{digest, err}
		})
	}
	group.Wait()
}

// SetDefinitionOwner records that the named set of documents owns a definition. A definition of
// another set is refused unless it is taken over, which is audited.
func (c *Catalog) SetDefinitionOwner(
	ctx context.Context, actor access.Actor, d controlplane.Definition, owner string, takeOver bool,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if err := controlplane.ValidName("owner", owner); err != nil {
		return err
	}
	var before string
	err := c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		before, err = tx.DefinitionOwners().Get(ctx, d)
		return err
	})
	if err != nil || before == owner {
		return err
	}
	e := actor.NewAuditEntry("hold definition", d.String())
	e.Detail = "for " + owner
	if before != "" {
		e.Detail += ", before for " + before
	}
	return c.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if before != "" && !takeOver {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "other_owner",
				Message: d.String() + " belongs to the owner " + before +
					", and these documents are applied for " + owner,
				Remedy: "Leave it to " + before + ", or take it over on purpose (--take-over)."}
		}
		return tx.DefinitionOwners().Put(ctx, d, owner)
	})
}

// ListOwnedDefinitions returns the definitions that the named set of documents owns.
func (c *Catalog) ListOwnedDefinitions(
	ctx context.Context, actor access.Actor, owner string,
) (all []controlplane.Definition, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.DefinitionOwners().ListDefinitions(ctx, owner)
		return err
	})
	return all, err
}

package api

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// maxDocumentProblems keeps the answer to hopeless documents readable.
const maxDocumentProblems = 200

func (s *server) ApplyDocuments(
	ctx context.Context, r ApplyDocumentsRequestObject,
) (ApplyDocumentsResponseObject, error) {
	if err := s.checkDocumentsOwner(ctx, r.Body.Owner); err != nil {
		return nil, err
	}
	out, err := s.runDocuments(ctx, *r.Body, false)
	return ApplyDocuments200JSONResponse(out), err
}

func (s *server) PreviewDocuments(
	ctx context.Context, r PreviewDocumentsRequestObject,
) (PreviewDocumentsResponseObject, error) {
	if err := s.checkDocumentsOwner(ctx, r.Body.Owner); err != nil {
		return nil, err
	}
	out, err := s.runDocuments(ctx, *r.Body, true)
	return PreviewDocuments200JSONResponse(out), err
}

// runDocuments applies documents in one transaction. A dry run is the same work,
// rolled back: what it accepts, applying does.
func (s *server) runDocuments(
	ctx context.Context, body Documents, dryRun bool,
) (DocumentResults, error) {
	return s.runDocumentsFrom(ctx, func(context.Context) (Documents, error) { return body, nil },
		dryRun)
}

// checkDocumentsOwner refuses documents of people in the name of a source.
func (s *server) checkDocumentsOwner(ctx context.Context, owner *string) error {
	if owner == nil {
		return nil
	}
	return s.Sources.CheckOwner(ctx, *owner)
}

// runDocumentsFrom does the same with documents that depend on what the transaction finds.
func (s *server) runDocumentsFrom(
	ctx context.Context, find func(context.Context) (Documents, error), dryRun bool,
) (DocumentResults, error) {
	return s.runDocumentsAs(ctx, find, dryRun, false)
}

func (s *server) runDocumentsAs(ctx context.Context,
	find func(context.Context) (Documents, error), dryRun, keepUsed bool,
) (DocumentResults, error) {
	var run *documentRun
	err := s.Catalog.ChangeInOneTx(ctx, actorOf(ctx), dryRun, func(ctx context.Context) error {
		body, err := find(ctx)
		if err != nil {
			return err
		}
		run = &documentRun{server: s, body: body, dryRun: dryRun, keepUsed: keepUsed,
			refused: map[controlplane.Definition]bool{}}
		return run.applyAll(ctx)
	})
	if err != nil {
		return DocumentResults{}, err
	}
	return DocumentResults{Results: orEmpty(run.results), Unlisted: orEmpty(run.unlisted)}, nil
}

// documentRun is one run over a set of documents, inside one transaction. It continues after a
// refusal, to find all problems at once.
type documentRun struct {
	server *server
	body   Documents
	dryRun bool
	// keepUsed leaves what is in use and would be pruned among what is not listed.
	keepUsed bool
	results  []DocumentResult
	unlisted []Definition
	problems []controlplane.Problem
	// kinds are those of the errors that the problems come from.
	kinds []controlplane.Kind
	// refused are definitions with problems: that others do not find them, or what
	// they were going to have, is no further problem.
	refused map[controlplane.Definition]bool
	// pipelineRefused is set after a pipeline had problems.
	pipelineRefused bool
}

func (r *documentRun) applyAll(ctx context.Context) error {
	if err := r.checkSet(); err != nil {
		return err
	}
	for _, i := range r.sortedDocuments(DocumentActionPut) {
		if err := r.putDocument(ctx, i); err != nil {
			return err
		}
	}
	for _, i := range slices.Backward(r.sortedDocuments(DocumentActionDelete)) {
		if err := r.removeDefinition(ctx, &i, definitionOf(r.body.Documents[i])); err != nil {
			return err
		}
	}
	if owner := valueOr(r.body.Owner, ""); owner != "" {
		if err := r.releaseUnlisted(ctx, owner); err != nil {
			return err
		}
	}
	return r.problemsError()
}

// checkSet refuses what makes no sense as a whole.
func (r *documentRun) checkSet() error {
	if valueOr(r.body.Owner, "") != "" {
		if err := controlplane.ValidName("owner", *r.body.Owner); err != nil {
			return err
		}
	} else if valueOr(r.body.Prune, false) {
		return &controlplane.Error{Kind: controlplane.Invalid, Code: "owner_missing",
			Field:   "owner",
			Message: "pruning needs an owner: without one nobody knows whose the other definitions are",
			Remedy:  "Name the owner of these documents, and apply them once under that name."}
	}
	first := map[controlplane.Definition]int{}
	for i, d := range r.body.Documents {
		was, twice := first[definitionOf(d)]
		if !twice {
			first[definitionOf(d)] = i
			continue
		}
		r.problems = append(r.problems, controlplane.Problem{Document: &i, Field: "name",
			Code: "twice", Message: definitionOf(d).String() + " is document " +
				strconv.Itoa(was) + " already", Remedy: "Remove one of the two."})
		r.kinds = append(r.kinds, controlplane.Invalid)
	}
	return r.problemsError()
}

func definitionOf(d Document) controlplane.Definition {
	return controlplane.Definition{Kind: string(d.Kind), Name: d.Name}
}

// sortedDocuments returns the documents with the action, in the order in which kinds refer to each
// other.
func (r *documentRun) sortedDocuments(action DocumentAction) []int {
	var all []int
	for i, d := range r.body.Documents {
		if valueOr(d.Action, DocumentActionPut) == action {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return kindOrder(r.body.Documents[a].Kind) - kindOrder(r.body.Documents[b].Kind)
	})
	return all
}

// putDocument applies one document with all of its parts.
func (r *documentRun) putDocument(ctx context.Context, i int) error {
	d, before := r.body.Documents[i], len(r.problems)
	definition := definitionOf(d)
	fields, err := splitFields(valueOr(d.Definition, nil))
	if err == nil {
		err = r.putFields(ctx, i, d, fields)
	}
	if err := r.recordProblems(&i, "", err); err != nil {
		return err
	}
	if owner := valueOr(r.body.Owner, ""); owner != "" && len(r.problems) == before {
		err := r.server.Catalog.SetDefinitionOwner(ctx, actorOf(ctx), definition, owner,
			valueOr(r.body.TakeOver, false))
		if err := r.recordProblems(&i, "", err); err != nil {
			return err
		}
	}
	r.refused[definition] = r.refused[definition] || len(r.problems) > before
	return nil
}

// removeDefinition deletes one definition; i is its document, nil where it is pruned.
func (r *documentRun) removeDefinition(
	ctx context.Context,
	i *int,
	d controlplane.Definition,
) error {
	err := documentKinds[DocumentKind(d.Kind)].remove(r.server, ctx, d.Name)
	if refused, ok := errors.AsType[*controlplane.Error](err); ok && i == nil && r.keepUsed &&
		refused.Kind == controlplane.Conflict {
		r.unlisted = append(r.unlisted, Definition{Kind: DocumentKind(d.Kind), Name: d.Name})
		return nil
	}
	at := ""
	if i == nil {
		at = d.String()
	}
	if err != nil {
		return r.recordProblems(i, at, err)
	}
	r.results = append(r.results, DocumentResult{Document: i, Kind: DocumentKind(d.Kind),
		Name: d.Name, Action: DocumentResultActionDeleted, Changes: []FieldChange{}})
	return nil
}

// releaseUnlisted finds what the owner holds and the documents do not name, and
// prunes it if asked to.
func (r *documentRun) releaseUnlisted(ctx context.Context, owner string) error {
	held, err := r.server.Catalog.ListOwnedDefinitions(ctx, actorOf(ctx), owner)
	if err != nil {
		return err
	}
	held = slices.DeleteFunc(held, func(d controlplane.Definition) bool {
		return slices.ContainsFunc(r.body.Documents, func(x Document) bool {
			return definitionOf(x) == d
		})
	})
	slices.SortStableFunc(held, func(a, b controlplane.Definition) int {
		return kindOrder(DocumentKind(b.Kind)) - kindOrder(DocumentKind(a.Kind))
	})
	for _, d := range held {
		if !valueOr(r.body.Prune, false) {
			r.unlisted = append(r.unlisted, Definition{Kind: DocumentKind(d.Kind), Name: d.Name})
			continue
		}
		if r.wasNotPreviewed(d) {
			if err := r.recordProblems(nil, d.String(), newlyHeld(d, owner)); err != nil {
				return err
			}
			continue
		}
		if err := r.removeDefinition(ctx, nil, d); err != nil {
			return err
		}
	}
	return nil
}

// wasNotPreviewed reports whether the caller listed what pruning may delete, and this
// is not part of it.
func (r *documentRun) wasNotPreviewed(d controlplane.Definition) bool {
	return r.body.PruneOnly != nil && !slices.ContainsFunc(*r.body.PruneOnly,
		func(x Definition) bool { return string(x.Kind) == d.Kind && x.Name == d.Name })
}

func newlyHeld(d controlplane.Definition, owner string) error {
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "changed_meanwhile",
		Message: owner + " holds " + d.String() + " since the preview, and pruning would delete it",
		Remedy:  "Apply again, and look at what would be deleted then."}
}

// recordProblems keeps a refusal as problems of the document, and returns every other error. at is
// the place in the document that the error's fields are relative to.
func (r *documentRun) recordProblems(i *int, at string, err error) error {
	if err == nil {
		return nil
	}
	known, ok := errors.AsType[*controlplane.Error](err)
	if !ok {
		return err
	}
	found := known.Problems
	if len(found) == 0 {
		found = []controlplane.Problem{{Field: known.Field, Code: known.Code,
			Message: known.Message, Remedy: known.Remedy, Users: known.Users}}
	}
	for _, p := range found {
		ofInput := p.Step == "" && strings.HasPrefix(p.Field, "input.")
		if r.isConsequence(p) || r.pipelineRefused && ofInput {
			continue
		}
		p.Document = i
		if p.Step == "" {
			p.Field = strings.Trim(at+"."+p.Field, ".")
		}
		r.problems, r.kinds = append(r.problems, p), append(r.kinds, known.Kind)
	}
	return nil
}

// isConsequence reports whether a problem only says that something is not there because
// it was refused itself.
func (r *documentRun) isConsequence(p controlplane.Problem) bool {
	if p.Code != "not_found" && p.Code != "unknown" && !strings.HasPrefix(p.Code, "unknown_") {
		return false
	}
	words := strings.FieldsFunc(p.Message, func(c rune) bool {
		return strings.ContainsRune(` ,;:"`, c)
	})
	for i := 0; i+1 < len(words); i++ {
		if r.refused[controlplane.Definition{Kind: words[i], Name: words[i+1]}] {
			return true
		}
	}
	return false
}

// problemsError is one error of all problems.
func (r *documentRun) problemsError() error {
	if len(r.problems) == 0 {
		return nil
	}
	kind := r.kinds[0]
	if slices.ContainsFunc(r.kinds, func(k controlplane.Kind) bool { return k != kind }) {
		kind = controlplane.Invalid
	}
	count := "one problem"
	if n := len(r.problems); n > 1 {
		count = strconv.Itoa(n) + " problems"
	}
	return &controlplane.Error{Kind: kind, Code: "documents_refused",
		Message:  "the documents have " + count + ", so nothing was changed",
		Remedy:   "Change what is listed, and apply again.",
		Problems: r.problems[:min(len(r.problems), maxDocumentProblems)]}
}

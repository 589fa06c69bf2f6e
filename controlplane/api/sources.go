package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/sources"
)

func (s *server) ListSources(
	ctx context.Context, r ListSourcesRequestObject,
) (ListSourcesResponseObject, error) {
	all, next, err := s.Sources.ListSources(ctx, actorOf(ctx), toPage(r.Params.Cursor,
		r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListSources200JSONResponse{Items: convertAll(all, toSource),
		NextCursor: ptrOrNil(next)}, nil
}

func (s *server) GetSource(
	ctx context.Context, r GetSourceRequestObject,
) (GetSourceResponseObject, error) {
	found, err := s.Sources.GetSource(ctx, actorOf(ctx), r.Name)
	return GetSource200JSONResponse(toSource(found)), err
}

func (s *server) PutSource(
	ctx context.Context, r PutSourceRequestObject,
) (PutSourceResponseObject, error) {
	b := r.Body
	saved, err := s.Sources.PutSource(ctx, actorOf(ctx), sources.SourcePut{
		Source: controlplane.DefinitionSource{Name: r.Name, URL: b.Url,
			Branch: valueOr(b.Branch, ""), Folder: valueOr(b.Folder, ""),
			Username: valueOr(b.Username, ""), CA: valueOr(b.Ca, ""),
			Period:  time.Duration(valueOr(b.PeriodMinutes, 5)) * time.Minute,
			Mode:    controlplane.SourceMode(valueOr(b.Mode, DefinitionSourceModeConfirm)),
			Removes: valueOr(b.Removes, false), Kinds: convertAll(valueOr(b.Kinds, nil),
				func(k DocumentKind) string { return string(k) }),
			Webhook: controlplane.ReviewSource(valueOr(b.Webhook, "")),
			Active:  valueOr(b.Active, true)},
		Token: secretValue(b.Token), Secret: secretValue(b.Secret)})
	if err != nil {
		return nil, err
	}
	out := PutSource200JSONResponse{Created: saved.Created, Changed: saved.Changed,
		Source: toSource(saved.Source)}
	if !saved.Made.IsEmpty() {
		out.Secret = ptrOrNil(saved.Made.Reveal())
	}
	return out, nil
}

func (s *server) DeleteSource(
	ctx context.Context, r DeleteSourceRequestObject,
) (DeleteSourceResponseObject, error) {
	if err := s.Sources.DeleteSource(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteSource204Response{}, nil
}

func (s *server) SyncSource(
	ctx context.Context, r SyncSourceRequestObject,
) (SyncSourceResponseObject, error) {
	found, err := s.Sources.SyncSource(ctx, actorOf(ctx), r.Name)
	return SyncSource200JSONResponse(toSource(found)), err
}

func (s *server) ApplySource(
	ctx context.Context, r ApplySourceRequestObject,
) (ApplySourceResponseObject, error) {
	applied, err := s.Sources.ApplySource(ctx, actorOf(ctx), r.Name, r.Body.Commit)
	return ApplySource200JSONResponse(toSource(applied)), err
}

func (s *server) GetDefinitionOrigin(
	ctx context.Context, r GetDefinitionOriginRequestObject,
) (GetDefinitionOriginResponseObject, error) {
	owner, source, err := s.Sources.FindOrigin(ctx, actorOf(ctx),
		controlplane.Definition{Kind: string(r.Kind), Name: r.Name})
	out := GetDefinitionOrigin200JSONResponse{Owner: ptrOrNil(owner)}
	if source != nil {
		out.Source = new(toSource(*source))
	}
	return out, err
}

func toSource(x controlplane.DefinitionSource) DefinitionSource {
	out := DefinitionSource{Name: x.Name, Url: x.URL, Branch: x.Branch, Folder: ptrOrNil(x.Folder),
		Username: ptrOrNil(x.Username), Ca: ptrOrNil(x.CA), PeriodMinutes: int(x.Period / time.Minute),
		Mode: DefinitionSourceMode(x.Mode), Removes: x.Removes,
		Kinds:   convertAll(x.Kinds, func(k string) DocumentKind { return DocumentKind(k) }),
		Webhook: ptrOrNil(DefinitionSourceWebhook(x.Webhook)), Active: x.Active, Owner: x.Owner,
		CreatedAt: x.CreatedAt, Status: DefinitionSourceStatus(x.Status),
		CheckedAt: x.State.CheckedAt, Found: toSourceCommit(x.State.Found),
		Applied: toSourceCommit(x.State.Applied), AppliedAt: x.State.AppliedAt,
		AppliedBy: ptrOrNil(x.State.AppliedBy), Changes: convertAll(x.State.Changes, toSourceChange),
		Unlisted: convertAll(x.State.Unlisted, func(d controlplane.Definition) Definition {
			return Definition{Kind: DocumentKind(d.Kind), Name: d.Name}
		}),
		Drift: convertAll(x.State.Drift, toSourceChange), FailingSince: x.State.FailingSince}
	if f := x.State.Failure; f != nil {
		out.Failure = &DefinitionSourceFailure{Commit: ptrOrNil(f.Commit), Code: f.Code,
			Message: controlplane.Sentence(f.Message), Remedy: ptrOrNil(f.Remedy),
			Problems: convertAll(f.Problems, toSourceProblem)}
	}
	return out
}

func toSourceCommit(c *controlplane.SourceCommit) *DefinitionSourceCommit {
	if c == nil {
		return nil
	}
	return &DefinitionSourceCommit{Hash: c.Hash, Subject: ptrOrNil(c.Subject),
		Author: ptrOrNil(c.Author), At: c.At}
}

func toSourceChange(c controlplane.DefinitionChange) DefinitionSourceChange {
	return DefinitionSourceChange{Kind: DocumentKind(c.Kind), Name: c.Name, Part: ptrOrNil(c.Part),
		Action: DefinitionSourceChangeAction(c.Action), Changes: orEmpty(c.Changes), Diff: c.Diff,
		File: ptrOrNil(c.File), Line: ptrOrNil(c.Line), ChangedBy: ptrOrNil(c.ChangedBy),
		ChangedAt: c.ChangedAt}
}

func toSourceProblem(p controlplane.SourceProblem) DefinitionSourceProblem {
	return DefinitionSourceProblem{File: ptrOrNil(p.File), Line: ptrOrNil(p.Line),
		What: ptrOrNil(p.What), Step: ptrOrNil(p.Step), Field: ptrOrNil(p.Field),
		Message: controlplane.Sentence(p.Message),
		Remedy:  ptrOrNil(p.Remedy), Users: toStrings(p.Users)}
}

// applySourceDocuments applies the documents of a source, or tries to.
func (s *server) applySourceDocuments(
	ctx context.Context, actor access.Actor, set sources.Set,
) (changes []controlplane.DefinitionChange, unlisted []controlplane.Definition, err error) {
	body := Documents{Owner: &set.Owner, Prune: &set.Removes,
		Documents: make([]Document, len(set.Documents))}
	for i, d := range set.Documents {
		definition, err := json.Marshal(d.Body)
		if err != nil {
			return nil, nil, fmt.Errorf("encode %s: %w", d, err)
		}
		body.Documents[i] = Document{Kind: DocumentKind(d.Kind), Name: d.Name,
			Definition: new(json.RawMessage(definition))}
	}
	ctx = context.WithValue(ctx, noteKey, &requestNote{who: caller{actor: actor}})
	out, err := s.runDocumentsAs(ctx,
		func(context.Context) (Documents, error) { return body, nil }, set.DryRun, true)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range out.Results {
		changes = append(changes, controlplane.DefinitionChange{Kind: string(r.Kind), Name: r.Name,
			Part: valueOr(r.Part, ""), Action: string(r.Action), Changes: r.Changes, Diff: r.Diff,
			Document: r.Document})
	}
	for _, d := range out.Unlisted {
		unlisted = append(unlisted, controlplane.Definition{Kind: string(d.Kind), Name: d.Name})
	}
	return changes, unlisted, nil
}

package api

import (
	"context"
	"encoding/json"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) GetCloneSheet(
	ctx context.Context, r GetCloneSheetRequestObject,
) (GetCloneSheetResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	c, err := s.Lifecycle.CloneSheet(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	out := GetCloneSheet200JSONResponse{Name: c.Name, PipelineVersion: c.Version,
		Source: CloneSource{Id: string(c.Source.ID), Name: c.Source.Name,
			Project: c.Source.Project, Environment: c.Source.Environment,
			PipelineVersion: c.Source.Version},
		Services: convertAll(c.Services, cloneService), PipelineChanges: cloneChanges(c.Changes),
		CarriedOver: orEmpty(c.Carried), NotCarriedOver: orEmpty(c.Left)}
	if len(c.Input) > 0 {
		out.Input = new(convertAll(c.Input, cloneInput))
	}
	if len(c.Changes.Input) > 0 {
		out.InputChanges = new(cloneFields(c.Changes.Input))
	}
	out.Resources.Before, out.Resources.After = c.Before, c.After
	return out, nil
}

func cloneService(c lifecycle.CloneService) CloneService {
	return CloneService{Step: string(c.Step), Service: c.Name,
		Image: c.Image.Registry + "/" + c.Image.Repository, TagMode: TagMode(c.Image.TagMode),
		Pattern: ptrOrNil(c.Image.Pattern), SourceTag: ptrOrNil(c.SourceTag),
		SourceDigest: ptrOrNil(c.SourceDigest), SourceMoved: c.Moved, NewestTag: ptrOrNil(c.Newest),
		Branch: ptrOrNil(c.Branch), NewestOfBranch: ptrOrNil(c.NewestOfBranch),
		DefaultTag: ptrOrNil(c.Image.Tag), Choice: c.Choice, State: CloneServiceState(c.State)}
}

func cloneChanges(d pipeline.Diff) []CloneChange {
	all := []CloneChange{}
	for _, s := range d.Added {
		all = append(all, CloneChange{Step: string(s.Key), Kind: "added", Fields: []CloneField{}})
	}
	for _, s := range d.Removed {
		all = append(all, CloneChange{Step: string(s.Key), Kind: "removed", Fields: []CloneField{}})
	}
	for _, c := range d.Changed {
		all = append(all, CloneChange{Step: string(c.Key), Kind: "changed",
			Fields: cloneFields(c.Fields)})
	}
	return all
}

func cloneFields(all []pipeline.FieldChange) []CloneField {
	return convertAll(all, func(f pipeline.FieldChange) CloneField {
		return CloneField{Path: f.Path, Before: rawValue(f.Old), After: rawValue(f.New)}
	})
}

func cloneInput(i lifecycle.CloneInput) CloneInput {
	return CloneInput{Name: i.Name, State: CloneInputState(i.State), Source: i.Source,
		Choice: i.Choice, Problem: ptrOrNil(i.Problem)}
}

// rawValue is a field's value as it was written; nil for none.
func rawValue(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

func (s *server) DiffDeployments(
	ctx context.Context, r DiffDeploymentsRequestObject,
) (DiffDeploymentsResponseObject, error) {
	left, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	right, err := deploymentID(r.Params.With)
	if err != nil {
		return nil, err
	}
	d, err := s.Lifecycle.Diff(ctx, actorOf(ctx), left, right)
	if err != nil {
		return nil, err
	}
	return DiffDeployments200JSONResponse{Left: deploymentRef(d.Left),
		Right: deploymentRef(d.Right), Same: len(d.Fields) == 0,
		Fields: convertAll(d.Fields, func(f pipeline.FieldChange) DeploymentDiffField {
			return DeploymentDiffField{Path: f.Path, Left: rawValue(f.Old), Right: rawValue(f.New)}
		})}, nil
}

func deploymentRef(d controlplane.Deployment) DeploymentRef {
	return DeploymentRef{Id: string(d.ID), Name: d.Name}
}

func (s *server) ListBranchTags(
	ctx context.Context, r ListBranchTagsRequestObject,
) (ListBranchTagsResponseObject, error) {
	all, err := s.Catalog.BranchTags(ctx, actorOf(ctx), r.Name, r.Params.Branch)
	if err != nil {
		return nil, err
	}
	return ListBranchTags200JSONResponse{Branch: r.Params.Branch,
		Services: convertAll(all, func(b catalog.BranchTag) BranchTag {
			return BranchTag{Step: string(b.Step), Service: b.Service, Tag: ptrOrNil(b.Tag),
				Matched: b.Matched, Reason: ptrOrNil(b.Reason)}
		})}, nil
}

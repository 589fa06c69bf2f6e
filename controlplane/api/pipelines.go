package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) GetPipeline(
	ctx context.Context, r GetPipelineRequestObject,
) (GetPipelineResponseObject, error) {
	v, err := s.Catalog.CurrentPipeline(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetPipeline200JSONResponse(pipelineVersion(v)), nil
}

func (s *server) PutPipeline(
	ctx context.Context, r PutPipelineRequestObject,
) (PutPipelineResponseObject, error) {
	saved, err := s.Catalog.SavePipelineOn(ctx, actorOf(ctx), r.Name, r.Body.Pipeline,
		valueOr(r.Body.Note, ""), r.Body.Base)
	if err != nil {
		return nil, err
	}
	return PutPipeline200JSONResponse{
		Changed: saved.Changed, Version: saved.Version, Digest: saved.Digest,
	}, nil
}

func (s *server) ValidatePipeline(
	ctx context.Context, r ValidatePipelineRequestObject,
) (ValidatePipelineResponseObject, error) {
	found, changes, err := s.Catalog.ValidatePipeline(ctx, actorOf(ctx), r.Name, r.Body.Pipeline)
	if err != nil {
		return nil, err
	}
	return ValidatePipeline200JSONResponse{
		Problems: fieldProblems(found), Changes: changes,
	}, nil
}

func (s *server) ListPipelineVersions(
	ctx context.Context, r ListPipelineVersionsRequestObject,
) (ListPipelineVersionsResponseObject, error) {
	actor := actorOf(ctx)
	all, next, err := s.Catalog.ListPipelineVersions(ctx, actor, r.Name,
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	items := convertAll(all, pipelineVersion)
	if len(all) > 0 {
		users, err := s.Catalog.VersionUsers(ctx, actor, r.Name, all[len(all)-1].Version,
			all[0].Version)
		if err != nil {
			return nil, err
		}
		for i := range items {
			by := convertAll(users[items[i].Version], pipelineUser)
			items[i].UsedBy = &by
		}
	}
	return ListPipelineVersions200JSONResponse{Items: items, NextCursor: ptrOrNil(next)}, nil
}

func pipelineUser(u controlplane.PipelineUser) PipelineUser {
	return PipelineUser{
		Id: string(u.Deployment), Name: u.Name, Environment: u.Environment,
		Status: DeploymentStatus(u.Status),
	}
}

func (s *server) GetPipelineVersion(
	ctx context.Context, r GetPipelineVersionRequestObject,
) (GetPipelineVersionResponseObject, error) {
	v, err := s.Catalog.PipelineVersion(ctx, actorOf(ctx), r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	return GetPipelineVersion200JSONResponse(pipelineVersion(v)), nil
}

func pipelineVersion(v controlplane.PipelineVersion) PipelineVersion {
	return PipelineVersion{
		Version: v.Version, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy, Note: ptrOrNil(v.Note),
		Digest: v.Digest, Pipeline: v.Pipeline,
	}
}

func (s *server) DiffPipelineVersion(
	ctx context.Context, r DiffPipelineVersionRequestObject,
) (DiffPipelineVersionResponseObject, error) {
	d, err := s.Catalog.DiffVersions(ctx, actorOf(ctx), r.Name, r.Version,
		valueOr(r.Params.Against, 0))
	if err != nil {
		return nil, err
	}
	return DiffPipelineVersion200JSONResponse{From: d.From, To: d.To, Diff: d.Diff}, nil
}

func (s *server) RestorePipelineVersion(
	ctx context.Context, r RestorePipelineVersionRequestObject,
) (RestorePipelineVersionResponseObject, error) {
	saved, err := s.Catalog.RestoreVersion(ctx, actorOf(ctx), r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	return RestorePipelineVersion200JSONResponse{
		Changed: saved.Changed, Version: saved.Version, Digest: saved.Digest,
	}, nil
}

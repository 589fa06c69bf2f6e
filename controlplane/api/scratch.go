package api

import (
	"context"

	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) PreflightDraft(
	ctx context.Context, r PreflightDraftRequestObject,
) (PreflightDraftResponseObject, error) {
	asked, drawn := scratchRequest(r.Name, *r.Body)
	found, err := s.Lifecycle.PreflightDraft(ctx, actorOf(ctx), asked, drawn)
	if err != nil {
		return nil, err
	}
	return PreflightDraft200JSONResponse(toPreflight(found)), nil
}

func (s *server) CreateScratch(
	ctx context.Context, r CreateScratchRequestObject,
) (CreateScratchResponseObject, error) {
	asked, drawn := scratchRequest(r.Name, *r.Body)
	d, err := s.Lifecycle.CreatePreview(ctx, actorOf(ctx), asked, drawn)
	if err != nil {
		return nil, err
	}
	body, place, err := s.readCreated(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	return CreateScratch201JSONResponse{
		Body: body, Headers: CreateScratch201ResponseHeaders{Location: &place},
	}, nil
}

func scratchRequest(project string, body Scratch) (lifecycle.Request, lifecycle.PreviewPipeline) {
	asked := deploymentRequest(DeploymentCreate{Name: body.Name, Project: project,
		Environment: body.Environment, Versions: body.Versions, Input: body.Input})
	pinned := map[pipeline.StepKey]map[string]any{}
	for key, outputs := range valueOr(body.Pinned, nil) {
		pinned[pipeline.StepKey(key)] = outputs
	}
	return asked, lifecycle.PreviewPipeline{Pipeline: body.Pipeline, Pinned: pinned,
		Steps: convertAll(valueOr(body.Steps, nil), func(key string) pipeline.StepKey {
			return pipeline.StepKey(key)
		})}
}

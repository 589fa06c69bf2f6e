package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListNodeTemplates(
	ctx context.Context, r ListNodeTemplatesRequestObject,
) (ListNodeTemplatesResponseObject, error) {
	all, next, err := s.Nodes.ListTemplates(ctx, actorOf(ctx),
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListNodeTemplates200JSONResponse{Items: convertAll(all, toNodeTemplate),
		NextCursor: ptrOrNil(next)}, nil
}

func (s *server) GetNodeTemplate(
	ctx context.Context, r GetNodeTemplateRequestObject,
) (GetNodeTemplateResponseObject, error) {
	one, err := s.Nodes.GetTemplate(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetNodeTemplate200JSONResponse(toNodeTemplate(one)), nil
}

func (s *server) PutNodeTemplate(
	ctx context.Context, r PutNodeTemplateRequestObject,
) (PutNodeTemplateResponseObject, error) {
	saved, err := s.Nodes.PutTemplate(ctx, actorOf(ctx), controlplane.NodeTemplate{Name: r.Name,
		Description: valueOr(r.Body.Description, ""), Settings: settingsIn(r.Body.Settings)})
	if err != nil {
		return nil, err
	}
	return PutNodeTemplate200JSONResponse{Changed: saved.Changed, Created: saved.Created,
		Template: toNodeTemplate(saved.Object)}, nil
}

func (s *server) DeleteNodeTemplate(
	ctx context.Context, r DeleteNodeTemplateRequestObject,
) (DeleteNodeTemplateResponseObject, error) {
	if err := s.Nodes.DeleteTemplate(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteNodeTemplate204Response{}, nil
}

func toNodeTemplate(t controlplane.NodeTemplate) NodeTemplate {
	return NodeTemplate{Name: t.Name, Description: ptrOrNil(t.Description),
		Settings: settingsOut(t.Settings), Nodes: t.Nodes}
}

package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListTemplates(
	ctx context.Context, r ListTemplatesRequestObject,
) (ListTemplatesResponseObject, error) {
	all, err := s.Lifecycle.Templates(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListTemplates200JSONResponse{Items: convertAll(all, templateView)}, nil
}

func (s *server) GetTemplate(
	ctx context.Context, r GetTemplateRequestObject,
) (GetTemplateResponseObject, error) {
	x, err := s.Lifecycle.Template(ctx, actorOf(ctx), r.Name, r.Template)
	if err != nil {
		return nil, err
	}
	return GetTemplate200JSONResponse(templateView(x)), nil
}

func (s *server) PutTemplate(
	ctx context.Context, r PutTemplateRequestObject,
) (PutTemplateResponseObject, error) {
	b := r.Body
	x, err := s.Lifecycle.PutTemplate(ctx, actorOf(ctx), r.Name, controlplane.Template{
		Name: r.Template, Description: valueOr(b.Description, ""),
		Environment: valueOr(b.Environment, ""),
		Versions:    valueOr(b.Versions, nil), DeploymentName: valueOr(b.DeploymentName, ""),
		Input: valueOr(b.Input, nil),
		Wait:  valueOr(b.Wait, false), Priority: b.Priority})
	if err != nil {
		return nil, err
	}
	return PutTemplate200JSONResponse(templateView(x)), nil
}

func (s *server) DeleteTemplate(
	ctx context.Context, r DeleteTemplateRequestObject,
) (DeleteTemplateResponseObject, error) {
	if err := s.Lifecycle.DeleteTemplate(ctx, actorOf(ctx), r.Name, r.Template); err != nil {
		return nil, err
	}
	return DeleteTemplate204Response{}, nil
}

func templateView(x controlplane.Template) Template {
	versions := x.Versions
	if versions == nil {
		versions = map[string]string{}
	}
	return Template{Name: x.Name, Description: x.Description, Environment: ptrOrNil(x.Environment),
		Versions: versions, Input: inputOf(x.Input), DeploymentName: ptrOrNil(x.DeploymentName),
		Wait:     x.Wait,
		Priority: x.Priority, UpdatedBy: x.UpdatedBy, UpdatedAt: x.UpdatedAt}
}

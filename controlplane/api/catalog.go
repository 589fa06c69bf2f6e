package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) ListRegistries(
	ctx context.Context, r ListRegistriesRequestObject,
) (ListRegistriesResponseObject, error) {
	all, next, err := s.Catalog.ListRegistries(ctx, actorOf(ctx),
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListRegistries200JSONResponse{
		Items:      convertAll(all, toRegistry),
		NextCursor: ptrOrNil(next),
	}, nil
}

func (s *server) GetRegistry(
	ctx context.Context, r GetRegistryRequestObject,
) (GetRegistryResponseObject, error) {
	one, err := s.Catalog.GetRegistry(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetRegistry200JSONResponse(toRegistry(one)), nil
}

func (s *server) PutRegistry(
	ctx context.Context, r PutRegistryRequestObject,
) (PutRegistryResponseObject, error) {
	saved, err := s.Catalog.PutRegistry(ctx, actorOf(ctx), catalog.RegistryPut{
		Name: r.Name, Host: r.Body.Host, Insecure: valueOr(r.Body.Insecure, false),
		Username: valueOr(r.Body.Username, ""), Description: valueOr(r.Body.Description, ""),
		Password: secretValue(r.Body.Password), CA: valueOr(r.Body.Ca, ""),
	})
	if err != nil {
		return nil, err
	}
	return PutRegistry200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Registry: toRegistry(saved.Object),
	}, nil
}

// secretValue hides a value as soon as it is out of the body; nil stays nil.
func secretValue(s *string) *controlplane.Plain {
	if s == nil {
		return nil
	}
	hidden := controlplane.NewPlain(*s)
	return &hidden
}

func (s *server) DeleteRegistry(
	ctx context.Context, r DeleteRegistryRequestObject,
) (DeleteRegistryResponseObject, error) {
	if err := s.Catalog.DeleteRegistry(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteRegistry204Response{}, nil
}

func toRegistry(r controlplane.Registry) Registry {
	return Registry{
		Name: r.Name, Host: r.Host, Insecure: r.Insecure, Username: ptrOrNil(r.Username),
		HasPassword: len(r.Password) > 0, Description: ptrOrNil(r.Description), Builtin: r.Builtin,
		Ca: ptrOrNil(r.CA),
	}
}

func (s *server) ListServices(
	ctx context.Context, r ListServicesRequestObject,
) (ListServicesResponseObject, error) {
	all, next, err := s.Catalog.ListServices(ctx, actorOf(ctx),
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListServices200JSONResponse{
		Items:      convertAll(all, toService),
		NextCursor: ptrOrNil(next),
	}, nil
}

func (s *server) GetService(
	ctx context.Context, r GetServiceRequestObject,
) (GetServiceResponseObject, error) {
	one, err := s.Catalog.GetService(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetService200JSONResponse(toService(one)), nil
}

func (s *server) PutService(
	ctx context.Context, r PutServiceRequestObject,
) (PutServiceResponseObject, error) {
	saved, err := s.Catalog.PutService(ctx, actorOf(ctx), catalog.ServicePut{
		Name: r.Name, Registry: r.Body.Registry, Image: r.Body.Image,
		TagMode: pipeline.TagMode(r.Body.TagMode), Tag: valueOr(r.Body.Tag, ""),
		Pattern: valueOr(r.Body.Pattern, ""), Description: valueOr(r.Body.Description, ""),
		Step: r.Body.Step,
	})
	if err != nil {
		return nil, err
	}
	return PutService200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Service: toService(saved.Object),
	}, nil
}

func (s *server) DeleteService(
	ctx context.Context, r DeleteServiceRequestObject,
) (DeleteServiceResponseObject, error) {
	if err := s.Catalog.DeleteService(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteService204Response{}, nil
}

func toService(v controlplane.Service) Service {
	return Service{
		Name: v.Name, Registry: v.Registry, RegistryHost: v.Host, Image: v.Image,
		TagMode: TagMode(v.TagMode), Tag: ptrOrNil(v.Tag), Pattern: ptrOrNil(v.Pattern),
		Description: ptrOrNil(v.Description), Step: v.Step,
	}
}

func (s *server) ListServiceTags(
	ctx context.Context, r ListServiceTagsRequestObject,
) (ListServiceTagsResponseObject, error) {
	p := r.Params
	found, err := s.Catalog.ListServiceTags(ctx, actorOf(ctx), r.Name, catalog.TagQuery{
		Search: valueOr(p.Search, ""), Page: toPage(p.Cursor, p.Limit),
		Order: catalog.TagOrder(valueOr(p.Order, ListServiceTagsParamsOrderNewest)),
	})
	if err != nil {
		return nil, err
	}
	out := ListServiceTags200JSONResponse{
		Items: tagsOf(found), NextCursor: ptrOrNil(found.Next), Total: found.Total,
		Matching: found.Matching, Pattern: ptrOrNil(found.Service.Pattern),
		TagMode: TagMode(found.Service.TagMode), Default: ptrOrNil(found.Service.Tag),
		ReadAt: found.ReadAt, Stale: found.Stale, StaleReason: ptrOrNil(found.Reason),
	}
	return out, nil
}

// tagsOf is a page of tags as the contract has them.
func tagsOf(page catalog.TagPage) []Tag {
	items := make([]Tag, len(page.Items))
	for i, v := range page.Items {
		items[i] = Tag{
			Tag: v.Tag, Digest: ptrOrNil(v.Digest), CreatedAt: ptrOrNil(v.CreatedAt), Size: ptrOrNil(v.Size),
			Commit: ptrOrNil(v.Commit), Branch: ptrOrNil(v.Branch), Builder: ptrOrNil(v.Builder),
		}
	}
	return items
}

func (s *server) ListPlugins(
	ctx context.Context, r ListPluginsRequestObject,
) (ListPluginsResponseObject, error) {
	all, next, err := s.Catalog.ListPlugins(ctx, actorOf(ctx),
		toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListPlugins200JSONResponse{
		Items:      convertAll(all, toPlugin),
		NextCursor: ptrOrNil(next),
	}, nil
}

func (s *server) GetPlugin(
	ctx context.Context, r GetPluginRequestObject,
) (GetPluginResponseObject, error) {
	one, err := s.Catalog.GetPlugin(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetPlugin200JSONResponse(toPlugin(one)), nil
}

func (s *server) PutPlugin(
	ctx context.Context, r PutPluginRequestObject,
) (PutPluginResponseObject, error) {
	saved, err := s.Catalog.PutPlugin(ctx, actorOf(ctx), catalog.PluginPut{
		Name: r.Name, Registry: r.Body.Registry, Image: r.Body.Image, Tag: r.Body.Tag,
		Component: r.Body.Component.Component,
	})
	if err != nil {
		return nil, err
	}
	return PutPlugin200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Plugin: toPlugin(saved.Object),
	}, nil
}

func (s *server) DeletePlugin(
	ctx context.Context, r DeletePluginRequestObject,
) (DeletePluginResponseObject, error) {
	if err := s.Catalog.DeletePlugin(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeletePlugin204Response{}, nil
}

func toPlugin(p controlplane.Plugin) Plugin {
	return Plugin{
		Name: p.Name, Registry: p.Registry, RegistryHost: p.Host, Image: p.Image, Tag: p.Tag,
		Digest: p.Digest, Component: p.Component,
	}
}

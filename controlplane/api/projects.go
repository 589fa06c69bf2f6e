package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
)

func (s *server) ListEnvironments(
	ctx context.Context, r ListEnvironmentsRequestObject,
) (ListEnvironmentsResponseObject, error) {
	actor := actorOf(ctx)
	all, next, err := s.Catalog.ListEnvironments(ctx, actor, page(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListEnvironments200JSONResponse{
		Items: each(all, s.environment(actor)), NextCursor: some(next),
	}, nil
}

func (s *server) GetEnvironment(
	ctx context.Context, r GetEnvironmentRequestObject,
) (GetEnvironmentResponseObject, error) {
	actor := actorOf(ctx)
	e, err := s.Catalog.GetEnvironment(ctx, actor, r.Name)
	if err != nil {
		return nil, err
	}
	return GetEnvironment200JSONResponse(s.environment(actor)(e)), nil
}

func (s *server) PutEnvironment(
	ctx context.Context, r PutEnvironmentRequestObject,
) (PutEnvironmentResponseObject, error) {
	actor := actorOf(ctx)
	saved, err := s.Catalog.PutEnvironment(ctx, actor, catalog.EnvironmentPut{
		Name: r.Name, Domain: r.Body.Domain, Description: or(r.Body.Description, ""),
		Restricted:        or(r.Body.Restricted, false),
		CleanupAfterHours: or(r.Body.CleanupAfterHours, 0),
		IgnoreVisits:      or(r.Body.IgnoreVisits, false),
		Placement:         placementIn(r.Body.Placement),
	})
	if err != nil {
		return nil, err
	}
	return PutEnvironment200JSONResponse{
		Changed: saved.Changed, Created: saved.Created,
		Environment: s.environment(actor)(saved.Object),
	}, nil
}

func (s *server) DeleteEnvironment(
	ctx context.Context, r DeleteEnvironmentRequestObject,
) (DeleteEnvironmentResponseObject, error) {
	if err := s.Catalog.DeleteEnvironment(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteEnvironment204Response{}, nil
}

func (s *server) environment(a access.Actor) func(controlplane.Environment) Environment {
	return func(e controlplane.Environment) Environment {
		suffix := e.Suffix()
		if port := s.IngressURL.Port(); port != "" {
			suffix += ":" + port
		}
		return Environment{
			Name: e.Name, Domain: e.Domain, UrlSuffix: suffix, Scheme: s.IngressURL.Scheme,
			Description: some(e.Description), Restricted: e.Restricted,
			CleanupAfterHours: some(e.CleanupAfterHours), IgnoreVisits: some(e.IgnoreVisits),
			Placement: placementOut(e.Placement),
			Nodes:     e.Nodes, NodesOnline: e.NodesOnline,
			CanCreate: access.CanCreateIn(a, e.ID, e.Restricted),
		}
	}
}

func (s *server) ListProjects(
	ctx context.Context, r ListProjectsRequestObject,
) (ListProjectsResponseObject, error) {
	actor := actorOf(ctx)
	all, next, err := s.Catalog.ListProjects(ctx, actor, page(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListProjects200JSONResponse{
		Items: each(all, project(actor)), NextCursor: some(next),
	}, nil
}

func (s *server) GetProject(
	ctx context.Context, r GetProjectRequestObject,
) (GetProjectResponseObject, error) {
	actor := actorOf(ctx)
	p, err := s.Catalog.GetProject(ctx, actor, r.Name)
	if err != nil {
		return nil, err
	}
	return GetProject200JSONResponse(project(actor)(p)), nil
}

func (s *server) PutProject(
	ctx context.Context, r PutProjectRequestObject,
) (PutProjectResponseObject, error) {
	actor := actorOf(ctx)
	saved, err := s.Catalog.PutProject(ctx, actor, projectIn(r.Name, r.Body))
	if err != nil {
		return nil, err
	}
	return PutProject200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Project: project(actor)(saved.Object),
	}, nil
}

func projectIn(name string, b *ProjectPut) catalog.ProjectPut {
	return catalog.ProjectPut{
		Name: name, Description: or(b.Description, ""), Resources: b.Resources,
		Cleanup: cleanup(b.CleanupAfterHours), Placement: placementIn(b.Placement),
		Environments: or(b.Environments, nil),
	}
}

func (s *server) DeleteProject(
	ctx context.Context, r DeleteProjectRequestObject,
) (DeleteProjectResponseObject, error) {
	if err := s.Catalog.DeleteProject(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteProject204Response{}, nil
}

func cleanup(hours *int) controlplane.Cleanup {
	return controlplane.Cleanup{Given: hours != nil, Hours: or(hours, 0)}
}

func project(a access.Actor) func(catalog.ProjectView) Project {
	return func(p catalog.ProjectView) Project {
		out := Project{
			Name: p.Name, Description: some(p.Description), Resources: p.Resources,
			PipelineVersion: some(p.Version), Deployments: p.Deployments,
			CanCreate: access.CanCreateOf(a, access.Object{Project: p.ID, Limited: p.Environments}),
			Placement: placementOut(p.Placement), Environments: limitedTo(a, p.Project),
		}
		if p.Cleanup.Given {
			out.CleanupAfterHours = &p.Cleanup.Hours
		}
		if len(p.Services) > 0 {
			all := each(p.Services, projectService)
			out.Services = &all
		}
		return out
	}
}

// limitedTo names the environments that the project is limited to, of those that
// the actor has a grant on: others may not be known to them.
func limitedTo(a access.Actor, p controlplane.Project) *[]string {
	if len(p.Environments) == 0 {
		return nil
	}
	names := []string{}
	for i, name := range p.EnvironmentNames {
		if access.SeesEnvironment(a, p.Environments[i], true) {
			names = append(names, name)
		}
	}
	return &names
}

func projectService(v catalog.ProjectService) ProjectService {
	return ProjectService{
		Step: string(v.Step), Service: v.Service, Image: v.Image, TagMode: TagMode(v.TagMode),
		Tag: some(v.Tag), Pattern: some(v.Pattern),
	}
}

func (s *server) ListSecrets(
	ctx context.Context, r ListSecretsRequestObject,
) (ListSecretsResponseObject, error) {
	all, err := s.Catalog.ListSecrets(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListSecrets200JSONResponse{Items: each(all, secret)}, nil
}

func (s *server) PutSecret(
	ctx context.Context, r PutSecretRequestObject,
) (PutSecretResponseObject, error) {
	p := catalog.SecretPut{
		Project: r.Name, Name: r.Secret, Value: secretValue(r.Body.Value),
	}
	if g := r.Body.Generate; g != nil {
		p.Rule = &controlplane.SecretRule{Length: or(g.Length, 0), Pattern: or(g.Pattern, ""),
			Alphabet: controlplane.Alphabet(or(g.Alphabet, ""))}
	}
	saved, err := s.Catalog.PutSecret(ctx, actorOf(ctx), p)
	if err != nil {
		return nil, err
	}
	return PutSecret200JSONResponse{Changed: saved.Changed, Secret: secret(saved.Object)}, nil
}

func (s *server) DeleteSecret(
	ctx context.Context, r DeleteSecretRequestObject,
) (DeleteSecretResponseObject, error) {
	if err := s.Catalog.DeleteSecret(ctx, actorOf(ctx), r.Name, r.Secret); err != nil {
		return nil, err
	}
	return DeleteSecret204Response{}, nil
}

func secret(v controlplane.Secret) Secret {
	out := Secret{
		Name: v.Name, Generated: v.Rule != nil, Version: v.Version, UpdatedAt: v.UpdatedAt,
		LastUsedAt: v.LastUsedAt,
	}
	if v.Rule != nil {
		out.Generate = &SecretGenerate{
			Length:   some(v.Rule.Length),
			Alphabet: some(SecretGenerateAlphabet(v.Rule.Alphabet)),
			Pattern:  some(v.Rule.Pattern),
		}
	}
	return out
}

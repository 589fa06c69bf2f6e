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
	all, next, err := s.Catalog.ListEnvironments(ctx, actor, toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListEnvironments200JSONResponse{
		Items: convertAll(all, s.environmentConverter(actor)), NextCursor: ptrOrNil(next),
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
	return GetEnvironment200JSONResponse(s.environmentConverter(actor)(e)), nil
}

func (s *server) PutEnvironment(
	ctx context.Context, r PutEnvironmentRequestObject,
) (PutEnvironmentResponseObject, error) {
	actor := actorOf(ctx)
	saved, err := s.Catalog.PutEnvironment(ctx, actor, catalog.EnvironmentPut{
		Name: r.Name, Domain: r.Body.Domain, Description: valueOr(r.Body.Description, ""),
		Restricted:        valueOr(r.Body.Restricted, false),
		CleanupAfterHours: valueOr(r.Body.CleanupAfterHours, 0),
		IgnoreVisits:      valueOr(r.Body.IgnoreVisits, false),
		IgnorePresence:    valueOr(r.Body.IgnorePresence, false),
		Placement:         placementIn(r.Body.Placement),
		Capacity:          capacityIn(r.Body.Capacity),
	})
	if err != nil {
		return nil, err
	}
	return PutEnvironment200JSONResponse{
		Changed: saved.Changed, Created: saved.Created,
		Environment: s.environmentConverter(actor)(saved.Object),
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

func (s *server) environmentConverter(a access.Actor) func(controlplane.Environment) Environment {
	return func(e controlplane.Environment) Environment {
		suffix := e.Suffix()
		if port := s.IngressURL.Port(); port != "" {
			suffix += ":" + port
		}
		return Environment{
			Name: e.Name, Domain: e.Domain, UrlSuffix: suffix, Scheme: s.IngressURL.Scheme,
			Description: ptrOrNil(e.Description), Restricted: e.Restricted,
			CleanupAfterHours: ptrOrNil(e.CleanupAfterHours), IgnoreVisits: ptrOrNil(e.IgnoreVisits),
			IgnorePresence: ptrOrNil(e.IgnorePresence),
			Placement:      placementOut(e.Placement), Capacity: capacityOut(e.Capacity),
			Nodes: e.Nodes, NodesOnline: e.NodesOnline,
			CanCreate: access.CanCreateIn(a, e.ID, e.Restricted),
		}
	}
}

func (s *server) ListProjects(
	ctx context.Context, r ListProjectsRequestObject,
) (ListProjectsResponseObject, error) {
	actor := actorOf(ctx)
	all, next, err := s.Catalog.ListProjects(ctx, actor, toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListProjects200JSONResponse{
		Items: convertAll(all, projectConverter(actor)), NextCursor: ptrOrNil(next),
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
	return GetProject200JSONResponse(projectConverter(actor)(p)), nil
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
		Changed: saved.Changed, Created: saved.Created, Project: projectConverter(actor)(saved.Object),
	}, nil
}

func projectIn(name string, b *ProjectPut) catalog.ProjectPut {
	return catalog.ProjectPut{
		Name: name, Description: valueOr(b.Description, ""), Resources: b.Resources,
		Cleanup: toCleanup(b.CleanupAfterHours), Placement: placementIn(b.Placement),
		Environments: valueOr(b.Environments, nil),
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

func toCleanup(hours *int) controlplane.Cleanup {
	return controlplane.Cleanup{Given: hours != nil, Hours: valueOr(hours, 0)}
}

func projectConverter(a access.Actor) func(catalog.ProjectView) Project {
	return func(p catalog.ProjectView) Project {
		out := Project{
			Name: p.Name, Description: ptrOrNil(p.Description), Resources: p.Resources,
			PipelineVersion: ptrOrNil(p.Version), Deployments: p.Deployments,
			CanCreate: access.CanCreateOf(a, access.Object{Project: p.ID, Limited: p.Environments}),
			Placement: placementOut(p.Placement), Environments: limitedTo(a, p.Project),
		}
		if p.Cleanup.Given {
			out.CleanupAfterHours = &p.Cleanup.Hours
		}
		if len(p.Services) > 0 {
			all := convertAll(p.Services, projectService)
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
		if access.CanSeeEnvironment(a, p.Environments[i], true) {
			names = append(names, name)
		}
	}
	return &names
}

func projectService(v catalog.ProjectService) ProjectService {
	return ProjectService{
		Step: string(v.Step), Service: v.Service, Image: v.Image, TagMode: TagMode(v.TagMode),
		Tag: ptrOrNil(v.Tag), Pattern: ptrOrNil(v.Pattern), Job: ptrOrNil(v.Job),
	}
}

func (s *server) ListSecrets(
	ctx context.Context, r ListSecretsRequestObject,
) (ListSecretsResponseObject, error) {
	all, err := s.Catalog.ListSecrets(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListSecrets200JSONResponse{Items: convertAll(all, toSecret)}, nil
}

func (s *server) PutSecret(
	ctx context.Context, r PutSecretRequestObject,
) (PutSecretResponseObject, error) {
	p := catalog.SecretPut{
		Project: r.Name, Name: r.Secret, Value: secretValue(r.Body.Value),
	}
	if g := r.Body.Generate; g != nil {
		p.Rule = &controlplane.SecretRule{Length: valueOr(g.Length, 0), Pattern: valueOr(g.Pattern, ""),
			Alphabet: controlplane.Alphabet(valueOr(g.Alphabet, ""))}
	}
	if v := r.Body.Vault; v != nil {
		p.Vault = &controlplane.VaultPath{Path: v.Path, Field: v.Field}
	}
	saved, err := s.Catalog.PutSecret(ctx, actorOf(ctx), p)
	if err != nil {
		return nil, err
	}
	return PutSecret200JSONResponse{Changed: saved.Changed, Secret: toSecret(saved.Object)}, nil
}

func (s *server) DeleteSecret(
	ctx context.Context, r DeleteSecretRequestObject,
) (DeleteSecretResponseObject, error) {
	if err := s.Catalog.DeleteSecret(ctx, actorOf(ctx), r.Name, r.Secret); err != nil {
		return nil, err
	}
	return DeleteSecret204Response{}, nil
}

func toSecret(v controlplane.Secret) Secret {
	out := Secret{
		Name: v.Name, Generated: v.Rule != nil, Version: v.Version, UpdatedAt: v.UpdatedAt,
		LastUsedAt: v.LastUsedAt,
	}
	if v.Vault != nil {
		out.Vault = &SecretVault{Path: v.Vault.Path, Field: v.Vault.Field}
	}
	if v.Rule != nil {
		out.Generate = &SecretGenerate{
			Length:   ptrOrNil(v.Rule.Length),
			Alphabet: ptrOrNil(SecretGenerateAlphabet(v.Rule.Alphabet)),
			Pattern:  ptrOrNil(v.Rule.Pattern),
		}
	}
	return out
}

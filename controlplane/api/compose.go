package api

import (
	"context"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/pipeline/compose"
)

func (s *server) ReadCompose(
	ctx context.Context, r ReadComposeRequestObject,
) (ReadComposeResponseObject, error) {
	actor := actorOf(ctx)
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	if _, err := s.Catalog.GetProject(ctx, actor, r.Name); err != nil {
		return nil, err
	}
	found, err := compose.Read(ctx, []byte(r.Body.Text))
	if err != nil {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "compose_invalid",
			Field: "text", Message: "the file is no Compose file that can be read: " + err.Error(),
			Remedy: "Correct it there, and choose it again.", Cause: err}
	}
	known, err := s.knownImages(ctx, actor)
	if err != nil {
		return nil, err
	}
	out := ReadCompose200JSONResponse{Secrets: orEmpty(found.Secrets),
		Registries: []ComposeRegistry{}, Services: []ComposeService{}, Notes: []ComposeNote{}}
	for i, service := range found.Services {
		used := known.adopt(&out.Registries, &out.Services, r.Name, service)
		found.Pipeline.Steps[i].Container().Name = used.Name
		if used.TagMode == pipeline.Pinned && used.Tag != service.Tag {
			found.Notes = append(found.Notes, compose.Note{Service: service.Name,
				Message: "it runs the tag " + used.Tag + " of the service " + used.Name +
					", to which an admin pinned it, instead of " + service.Tag})
		}
	}
	for _, n := range found.Notes {
		out.Notes = append(out.Notes, ComposeNote{Line: n.Line, Service: ptrOrNil(n.Service),
			Message: n.Message})
	}
	out.Pipeline = found.Pipeline
	return out, nil
}

// knownImages is what the catalogue has already: registries by host, and services by the
// host and the repository of their image.
type knownImages struct {
	registries map[string]string
	services   map[string]controlplane.Service
}

func (s *server) knownImages(ctx context.Context, actor access.Actor) (k knownImages, err error) {
	k = knownImages{map[string]string{}, map[string]controlplane.Service{}}
	page := controlplane.Page{Limit: controlplane.MaxPage}
	for {
		all, next, err := s.Catalog.ListRegistries(ctx, actor, page)
		if err != nil {
			return k, err
		}
		for _, r := range all {
			k.registries[r.Host] = r.Name
		}
		if page.After = next; next == "" {
			break
		}
	}
	for page.After = ""; ; {
		all, next, err := s.Catalog.ListServices(ctx, actor, page)
		if err != nil {
			return k, err
		}
		for _, one := range all {
			// Of several with one image, the first by name.
			if image := one.Host + "/" + one.Image; k.services[image].Name == "" {
				k.services[image] = one
			}
		}
		if page.After = next; next == "" {
			return k, nil
		}
	}
}

// adopt is the service that has an image. One that the catalogue lacks is
// added to what has to be created, with its registry.
func (k knownImages) adopt(registries *[]ComposeRegistry, services *[]ComposeService,
	project string, s compose.Service) controlplane.Service {
	image := s.Registry + "/" + s.Repository
	if used, ok := k.services[image]; ok {
		return used
	}
	if k.registries[s.Registry] == "" {
		name := strings.NewReplacer(".", "-", ":", "-").Replace(s.Registry)
		k.registries[s.Registry] = name
		*registries = append(*registries, ComposeRegistry{Name: name, Host: s.Registry})
	}
	// Two projects may both have a service called db.
	name := project + "-" + s.Name
	name = strings.TrimRight(name[:min(len(name), controlplane.MaxName)], "-")
	used := controlplane.Service{Name: name, TagMode: pipeline.Selectable, Tag: s.Tag}
	k.services[image] = used
	*services = append(*services, ComposeService{Name: name, Registry: k.registries[s.Registry],
		Image: s.Repository, Tag: s.Tag})
	return used
}

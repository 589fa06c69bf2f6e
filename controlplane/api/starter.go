package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/starter"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) ListStarterEntries(
	context.Context, ListStarterEntriesRequestObject,
) (ListStarterEntriesResponseObject, error) {
	all, err := starter.List()
	if err != nil {
		return nil, err
	}
	out := ListStarterEntries200JSONResponse{Items: make([]StarterEntry, len(all))}
	for i, e := range all {
		if out.Items[i], err = starterEntryView(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// starterEntryView says what an entry needs, from its documents.
func starterEntryView(e starter.Entry) (StarterEntry, error) {
	first := e.Documents[0]
	text, err := json.Marshal(first.Definition["step"])
	var step pipeline.ServiceStep
	if err == nil {
		err = json.Unmarshal(text, &step)
	}
	if err != nil {
		return StarterEntry{}, fmt.Errorf("read the step of %s: %w", e.Name, err)
	}
	drawn := pipeline.Pipeline{Steps: []pipeline.Step{{Service: &step}}}
	out := StarterEntry{Name: e.Name, Group: StarterEntryGroup(e.Group), Description: e.Description,
		Image: first.Image(), Registry: first.Registry(), Document: e.Text,
		Secrets: pipeline.SecretNames(drawn), Resources: &step.Resources,
		Ports: []int{}, Volumes: []string{}, Plugins: []string{}, Services: []string{}}
	for _, p := range step.Ports {
		out.Ports = append(out.Ports, p.Port)
	}
	for _, v := range step.Volumes {
		out.Volumes = append(out.Volumes, v.Path)
	}
	if step.GPUs != nil {
		out.Gpus = step.GPUs.Count
	}
	for _, d := range e.Documents[1:] {
		switch d.Kind {
		case starter.KindPlugin:
			out.Plugins = append(out.Plugins, d.Name)
		case starter.KindService:
			out.Services = append(out.Services, d.Name)
		}
	}
	out.Secrets = orEmpty(out.Secrets)
	return out, nil
}

func (s *server) AddStarterEntry(
	ctx context.Context, r AddStarterEntryRequestObject,
) (AddStarterEntryResponseObject, error) {
	e, exists, err := starter.Find(r.Name)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, controlplane.NewNotFoundError("entry of the starter catalogue", r.Name)
	}
	out, err := s.runDocumentsFrom(ctx, func(ctx context.Context) (Documents, error) {
		return s.starterDocuments(ctx, e, *r.Body)
	}, valueOr(r.Body.DryRun, false))
	return AddStarterEntry200JSONResponse(out), err
}

// starterDocuments are the documents of an entry as they are added here. Nothing that exists is
// changed: the entry's own service is refused then, and what comes with it is left out.
func (s *server) starterDocuments(
	ctx context.Context, e starter.Entry, chosen StarterAdd,
) (out Documents, err error) {
	plugins := valueOr(chosen.PluginRegistry, "")
	for i, d := range e.Documents {
		if d.Kind == starter.KindPlugin && plugins == "" {
			continue
		}
		name := d.Name
		if i == 0 {
			name = valueOr(chosen.Name, d.Name)
		}
		kind := DocumentKind(d.Kind)
		_, err := documentKinds[kind].get(s, ctx, name)
		exists, err := controlplane.IsFound(err)
		if err != nil {
			return out, err
		}
		if exists && i == 0 {
			return out, serviceExists(name)
		}
		if exists {
			continue
		}
		d.Definition = maps.Clone(d.Definition)
		if d.Kind == starter.KindPlugin {
			d.Definition["registry"] = plugins
		} else if chosen.Registry != nil {
			d.Definition["registry"] = *chosen.Registry
		}
		definition, err := d.Encode()
		if err != nil {
			return out, fmt.Errorf("encode %s of %s: %w", d.Name, e.Name, err)
		}
		out.Documents = append(out.Documents, Document{Kind: kind, Name: name, Definition: &definition})
	}
	return out, nil
}

func serviceExists(name string) error {
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "exists", Field: "name",
		Message: "there is already a service " + name + ", and the catalogue does not change it",
		Remedy:  "Choose another name for the new service."}
}

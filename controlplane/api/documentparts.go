package api

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// projectParts are what a project's document holds besides its settings.
type projectParts struct{ secrets, pipeline, templates json.RawMessage }

// putParts applies secrets first, since the pipeline refers to them, and templates
// last, which choose versions for it. Where the project is not there because it was
// refused, only their form is checked.
func (r *documentRun) putParts(
	ctx context.Context, i int, project string, parts projectParts, exists bool,
) error {
	for _, part := range []struct {
		at    string
		value json.RawMessage
		put   func(context.Context, int, string, json.RawMessage, bool) error
	}{{"secrets", parts.secrets, r.putSecrets}, {"pipeline", parts.pipeline, r.putPipeline},
		{"templates", parts.templates, r.putTemplates}} {
		if part.value == nil {
			continue
		}
		err := part.put(ctx, i, project, part.value, exists)
		if part.at == "pipeline" && err != nil {
			// That templates and rules set input that it does not declare is no further problem.
			exists, r.pipelineRefused = false, true
		}
		if err := r.recordProblems(&i, part.at, err); err != nil {
			return err
		}
	}
	return nil
}

func (r *documentRun) putSecrets(
	ctx context.Context, i int, project string, text json.RawMessage, exists bool,
) error {
	all, err := splitFields(text)
	if err != nil {
		return err
	}
	stored := map[string]controlplane.Secret{}
	if exists {
		known, err := r.server.Catalog.ListSecrets(ctx, actorOf(ctx), project)
		if err != nil {
			return err
		}
		for _, s := range known {
			stored[s.Name] = s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, had := stored[name]
		action, err := r.putSecret(ctx, project, name, all[name], old, exists)
		if err := r.recordProblems(&i, "secrets."+name, err); err != nil {
			return err
		}
		if err != nil {
			// The pipeline's references to it are no further problem.
			r.refused[controlplane.Definition{Kind: "secret", Name: name}] = true
			continue
		}
		if action == DocumentResultActionChanged && !had {
			action = DocumentResultActionCreated
		}
		r.addPart(i, project, "secret "+name, DocumentResult{Action: action})
	}
	return nil
}

func (r *documentRun) putSecret(
	ctx context.Context, project, name string, text json.RawMessage, old controlplane.Secret,
	exists bool,
) (DocumentResultAction, error) {
	fields, err := splitFields(text)
	if err != nil {
		return "", err
	}
	source := fields.takeField("from_env")
	if source != nil && len(fields) == 0 {
		if old.Name != "" && old.Rule == nil && old.Vault == nil {
			return DocumentResultActionUnchanged, nil
		}
		return "", noStoredValue("from_env", source)
	}
	if text, err = json.Marshal(fields); err != nil {
		return "", err
	}
	if err := r.server.checkAgainst("SecretPut", text); err != nil || !exists {
		return DocumentResultActionCreated, err
	}
	var body SecretPut
	if err := json.Unmarshal(text, &body); err != nil {
		return "", err
	}
	answer, err := r.server.PutSecret(ctx,
		PutSecretRequestObject{Name: project, Secret: name, Body: &body})
	if saved, ok := answer.(PutSecret200JSONResponse); ok && saved.Changed {
		return DocumentResultActionChanged, err
	}
	return DocumentResultActionUnchanged, err
}

func (r *documentRun) putPipeline(
	ctx context.Context, i int, project string, text json.RawMessage, exists bool,
) error {
	if err := r.server.checkAgainst("Pipeline", text); err != nil || !exists {
		return err
	}
	var p pipeline.Pipeline
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	old, err := r.server.Catalog.CurrentPipeline(ctx, actorOf(ctx), project)
	had := err == nil
	if err != nil && controlplane.KindOf(err) != controlplane.NotFound {
		return err
	}
	saved, err := r.server.Catalog.SavePipeline(ctx, actorOf(ctx), project, p, "")
	if err != nil {
		return err
	}
	out := DocumentResult{Action: DocumentResultActionUnchanged, Version: &saved.Version}
	switch {
	case !had:
		out.Action = DocumentResultActionCreated
	case saved.Changed:
		diff, err := pipeline.Compare(pipeline.AsWritten(old.Pipeline), pipeline.AsWritten(p))
		if err != nil {
			return err
		}
		out.Action, out.Diff = DocumentResultActionChanged, &diff
	}
	r.addPart(i, project, "pipeline", out)
	return nil
}

func (r *documentRun) putTemplates(
	ctx context.Context, i int, project string, text json.RawMessage, exists bool,
) error {
	all, err := splitFields(text)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out, err := r.putTemplate(ctx, project, name, all[name], exists)
		if err := r.recordProblems(&i, "templates."+name, err); err != nil {
			return err
		}
		if err == nil {
			r.addPart(i, project, "template "+name, out)
		}
	}
	return nil
}

func (r *documentRun) putTemplate(
	ctx context.Context, project, name string, text json.RawMessage, exists bool,
) (out DocumentResult, err error) {
	if err := r.server.checkAgainst("TemplatePut", text); err != nil || !exists {
		return out, err
	}
	var body TemplatePut
	if err := json.Unmarshal(text, &body); err != nil {
		return out, err
	}
	now, err := r.server.Lifecycle.Template(ctx, actorOf(ctx), project, name)
	had := err == nil
	if err != nil && controlplane.KindOf(err) != controlplane.NotFound {
		return out, err
	}
	before, after, err := templateFields(templateView(now), body)
	if err != nil {
		return out, err
	}
	if had && reflect.DeepEqual(before, after) {
		return DocumentResult{Action: DocumentResultActionUnchanged}, nil
	}
	if r.dryRun && actorOf(ctx).IsReadOnly() {
		// Saving takes more than reading, and only the name is left to check.
		err = controlplane.ValidName("template", name)
	} else {
		_, err = r.server.PutTemplate(ctx,
			PutTemplateRequestObject{Name: project, Template: name, Body: &body})
	}
	if err != nil || !had {
		return DocumentResult{Action: DocumentResultActionCreated}, err
	}
	changes, err := pipeline.CompareJSON(before, after)
	return DocumentResult{Action: DocumentResultActionChanged, Changes: changes}, err
}

// templateFields brings a stored template and a wanted one into one form: what is
// empty is left out.
func templateFields(now Template, want TemplatePut) (before, after map[string]any, err error) {
	if before, err = jsonFields(now); err != nil {
		return nil, nil, err
	}
	if after, err = jsonFields(want); err != nil {
		return nil, nil, err
	}
	for _, field := range []string{"name", "updated_by", "updated_at"} {
		delete(before, field)
	}
	for _, fields := range []map[string]any{before, after} {
		maps.DeleteFunc(fields, func(_ string, v any) bool {
			nested, ok := v.(map[string]any)
			return v == nil || v == "" || v == false || ok && len(nested) == 0
		})
	}
	return before, after, nil
}

func (r *documentRun) addPart(i int, project, part string, out DocumentResult) {
	out.Document, out.Kind, out.Name, out.Part = &i, "project", project, &part
	out.Changes = orEmpty(out.Changes)
	r.results = append(r.results, out)
}

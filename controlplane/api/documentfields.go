package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// documentFields are the fields of a definition, each as it was sent.
type documentFields map[string]json.RawMessage

func splitFields(text json.RawMessage) (documentFields, error) {
	fields := documentFields{}
	if len(text) == 0 {
		return fields, nil
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "invalid",
			Message: "a mapping of fields is expected here"}
	}
	// An empty field means the same as an absent one.
	maps.DeleteFunc(fields, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return fields, nil
}

// takeField removes a field that is not part of the body.
func (f documentFields) takeField(name string) json.RawMessage {
	value := f[name]
	delete(f, name)
	return value
}

// putFields applies a definition and its parts.
func (r *documentRun) putFields(
	ctx context.Context, i int, d Document, fields documentFields,
) error {
	gate := documentFields{}
	var parts projectParts
	switch d.Kind {
	case "environment":
		for _, name := range gateFields {
			if value := fields.takeField(name); value != nil {
				gate[name] = value
			}
		}
	case "project":
		parts = projectParts{secrets: fields.takeField("secrets"), pipeline: fields.takeField("pipeline"),
			templates: fields.takeField("templates")}
	case "webhook":
		if format := fields.takeField("format"); format != nil {
			fields["kind"] = format
		}
	}
	before, err := r.server.definitionFields(ctx, d.Kind, d.Name)
	if err != nil {
		return err
	}
	k := documentKinds[d.Kind]
	if parts.pipeline != nil {
		k.put = putProjectBeforePipeline
	}
	saved, err := r.putBody(ctx, k, d, fields, before)
	if err := r.recordProblems(&i, "", renamedFormat(d.Kind, err)); err != nil {
		return err
	}
	r.refused[definitionOf(d)] = err != nil
	if len(gate) > 0 {
		if err := r.recordProblems(&i, "", r.putGate(ctx, d.Name, gate)); err != nil {
			return err
		}
	}
	if err == nil {
		if err := r.recordResult(ctx, i, d, before, saved); err != nil {
			return err
		}
	}
	return r.putParts(ctx, i, d.Name, parts, err == nil || before != nil)
}

// renamedFormat calls the kind of a webhook what documents call it.
func renamedFormat(kind DocumentKind, err error) error {
	refused, ok := err.(*controlplane.Error) //nolint:errorlint // ours, not wrapped
	if !ok || kind != "webhook" {
		return err
	}
	copied := *refused
	rename := func(field string) string {
		if field == "kind" {
			return "format"
		}
		return field
	}
	copied.Field = rename(copied.Field)
	copied.Problems = slices.Clone(copied.Problems)
	for i := range copied.Problems {
		copied.Problems[i].Field = rename(copied.Problems[i].Field)
	}
	return &copied
}

// savedState is what the kinds' answers have in common.
type savedState struct {
	Changed bool   `json:"changed"`
	Secret  string `json:"secret"`
}

func (r *documentRun) putBody(
	ctx context.Context, k documentKind, d Document, fields documentFields, before map[string]any,
) (out savedState, err error) {
	for _, hidden := range k.hidden {
		if err := r.keepHidden(ctx, d, hidden, fields, before != nil); err != nil {
			return out, err
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return out, err
	}
	if err := r.server.checkAgainst(k.schema, text); err != nil {
		return out, err
	}
	answer, err := k.put(r.server, ctx, d.Name, text)
	if err != nil {
		return out, err
	}
	if text, err = json.Marshal(answer); err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// keepHidden handles FIELD_from_env: the client had no value, so the stored one is
// kept if there is one.
func (r *documentRun) keepHidden(
	ctx context.Context, d Document, field string, fields documentFields, exists bool,
) error {
	source := fields.takeField(field + "_from_env")
	if source == nil || fields[field] != nil {
		return nil
	}
	if exists && d.Kind == "registry" {
		known, err := r.server.Catalog.GetRegistry(ctx, actorOf(ctx), d.Name)
		if err != nil {
			return err
		}
		var host string
		_ = json.Unmarshal(fields["host"], &host) // the schema refuses what is no text
		if exists = len(known.Password) > 0; exists && !strings.EqualFold(host, known.Host) {
			// Saving another host deletes the password, which is not meant for it.
			return valueMissing(field+"_from_env", source, "the stored value is for "+known.Host)
		}
	}
	if exists {
		return nil
	}
	return noStoredValue(field+"_from_env", source)
}

// noStoredValue refuses to keep a value that is not there.
func noStoredValue(field string, variable json.RawMessage) error {
	return valueMissing(field, variable, "no value is stored yet")
}

// valueMissing refuses a variable that is empty where the stored value cannot stand in.
func valueMissing(field string, variable json.RawMessage, why string) error {
	var name string
	_ = json.Unmarshal(variable, &name)
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "value_missing", Field: field,
		Message: why + ", and the environment variable " + name + " is empty",
		Remedy:  "Set " + name + " and apply again."}
}

// putGate changes the gate if the document mentions it.
func (r *documentRun) putGate(ctx context.Context, name string, given documentFields) error {
	now, err := r.server.Gate.Environment(ctx, actorOf(ctx), name)
	if err != nil {
		return err
	}
	want := environmentGate(now)
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	merged, err := splitFields(text)
	if err != nil {
		return err
	}
	maps.Copy(merged, given)
	if text, err = json.Marshal(merged); err != nil {
		return err
	}
	if err := r.server.checkAgainst("EnvironmentGate", text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &want); err != nil {
		return err
	}
	if want == environmentGate(now) {
		return nil
	}
	_, err = r.server.PutEnvironmentGate(ctx,
		PutEnvironmentGateRequestObject{Name: name, Body: &want})
	return err
}

// recordResult reports whether a definition was created, changed or kept, by comparing it with what
// it was.
func (r *documentRun) recordResult(
	ctx context.Context, i int, d Document, before map[string]any, saved savedState,
) error {
	after, err := r.server.definitionFields(ctx, d.Kind, d.Name)
	if err != nil {
		return err
	}
	out := DocumentResult{Document: &i, Kind: d.Kind, Name: d.Name,
		Action: DocumentResultActionCreated, Changes: []FieldChange{}}
	if saved.Secret != "" && !r.dryRun {
		out.Secret = &saved.Secret
	}
	if before != nil {
		changes, err := pipeline.CompareJSON(before, after)
		if err != nil {
			return err
		}
		out.Action, out.Changes = DocumentResultActionUnchanged, orEmpty(changes)
		if saved.Changed || len(changes) > 0 {
			out.Action = DocumentResultActionChanged
		}
	}
	for i := range out.Changes {
		if d.Kind == "webhook" && out.Changes[i].Path == "kind" {
			out.Changes[i].Path = "format"
		}
	}
	r.results = append(r.results, out)
	return nil
}

// checkAgainst holds a value to a schema of the contract, and names everything that
// is wrong with it.
func (s *server) checkAgainst(schema string, text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	err := s.schemas[schema].Value.VisitJSON(value, openapi3.MultiErrors(),
		openapi3.VisitAsRequest())
	if err == nil {
		return nil
	}
	found := collectPlain(nil, err)
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "definition_invalid",
		Message: "the definition does not have the form of its kind", Problems: found}
}

// collectPlain is collect with field names as documents spell them.
func collectPlain(all []controlplane.Problem, err error) []controlplane.Problem {
	var many openapi3.MultiError
	if asMultiError(err, &many) {
		for _, one := range many {
			all = collectPlain(all, one)
		}
		return all
	}
	found := collectProblems(nil, "", err)
	if len(found) != 1 {
		return append(all, found...)
	}
	last := found[0].Field[strings.LastIndex(found[0].Field, ".")+1:]
	switch {
	case found[0].Code == "missing":
		found[0].Message = last + " is missing"
		found[0].Remedy = "Add it; the reference of documents says what it is."
	case found[0].Code == "unknown_field":
		found[0].Message = "there is no field " + last + " here"
		found[0].Remedy = "Leave it out, or check its spelling."
	}
	return append(all, found...)
}

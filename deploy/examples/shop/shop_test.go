// Package shop_test holds the example to what it promises: the documents are
// valid and refer only to what is built from this repository.
package shop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/pipeline"
)

type document = map[string]any

func readDocuments(t *testing.T) []document {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	var all []document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dec := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var d document
			err := dec.Decode(&d)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, d)
		}
	}
	return all
}

func findDocument(t *testing.T, kind, name string) document {
	t.Helper()
	all := readDocuments(t)
	i := slices.IndexFunc(all, func(d document) bool { return d["kind"] == kind && d["name"] == name })
	if i < 0 {
		t.Fatalf("there is no %s %q in the documents", kind, name)
	}
	return all[i]
}

// decodeStrict reads a part of a document as the API would: unknown fields refused.
func decodeStrict(t *testing.T, from, into any) {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestPipeline_IsValid(t *testing.T) {
	project := findDocument(t, "project", "shop")
	var p pipeline.Pipeline
	decodeStrict(t, project["pipeline"], &p)
	for _, step := range p.Steps {
		if step.Service != nil {
			step.Service.Image = imageOf(t, findDocument(t, "service", step.Service.Name))
			continue
		}
		plugin := findDocument(t, "plugin", step.Plugin.Name)
		step.Plugin.Image = imageOf(t, plugin)
		step.Plugin.Component = readComponent(t, plugin["component_file"].(string))
	}
	settings := pipeline.Settings{}
	decodeStrict(t, project["resources"], &settings.Limits)
	for name := range project["secrets"].(document) {
		settings.Secrets = append(settings.Secrets, name)
	}
	p.Format = pipeline.Format
	for _, problem := range pipeline.Validate(p, settings) {
		t.Errorf("%s %s: %s", problem.Step, problem.Field, problem.Message)
	}
	order, err := pipeline.Order(p)
	want := []pipeline.StepKey{"postgres", "create-db", "schema", "api", "web", "smoke"}
	if err != nil || !slices.Equal(order, want) {
		t.Errorf("the order is %v, %v; want %v", order, err, want)
	}
}

func imageOf(t *testing.T, d document) *pipeline.Image {
	t.Helper()
	registry := findDocument(t, "registry", d["registry"].(string))
	i := pipeline.Image{
		Registry: registry["host"].(string), Insecure: registry["insecure"].(bool),
		Repository: d["image"].(string),
	}
	for field, into := range map[string]*string{"tag": &i.Tag, "pattern": &i.Pattern} {
		*into, _ = d[field].(string)
	}
	if mode, given := d["tag_mode"].(string); given {
		i.TagMode = pipeline.TagMode(mode)
	}
	return &i
}

func readComponent(t *testing.T, file string) *pipeline.Component {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c pipeline.Component
	decodeStrict(t, json.RawMessage(text), &c)
	return &c
}

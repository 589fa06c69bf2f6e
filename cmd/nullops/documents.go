package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kinds are the kinds of documents, in the order they are applied: each only
// refers to ones before it.
var kinds = [...]string{"registry", "service", "plugin", "environment", "node", "user", "project",
	"team", "webhook", "rule"}

// document is one YAML document: kind and name say what it is, the rest is the
// body that the API takes.
type document struct {
	File string
	Kind string
	Name string
	Body map[string]any
}

func (d document) String() string { return d.Kind + " " + d.Name }

// readDocuments reads a file, every .yaml and .yml file of a folder, or
// standard input for "-", and sorts by kind.
func readDocuments(path string, stdin io.Reader) ([]document, error) {
	files, err := documentFiles(path)
	if err != nil {
		return nil, err
	}
	var docs []document
	for _, file := range files {
		text, err := readFileOr(file, stdin)
		if err != nil {
			return nil, err
		}
		found, err := parseDocuments(file, text)
		if err != nil {
			return nil, err
		}
		docs = append(docs, found...)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s holds no documents", path)
	}
	slices.SortStableFunc(docs, func(a, b document) int {
		return slices.Index(kinds[:], a.Kind) - slices.Index(kinds[:], b.Kind)
	})
	return docs, nil
}

func documentFiles(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read documents: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return files, nil
}

func readFileOr(file string, stdin io.Reader) ([]byte, error) {
	if file != "-" {
		return os.ReadFile(file)
	}
	return io.ReadAll(io.LimitReader(stdin, 16<<20))
}

func parseDocuments(file string, text []byte) ([]document, error) {
	bodies, err := parseYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var docs []document
	for _, body := range bodies {
		if body == nil {
			continue
		}
		d, err := newDocument(file, body)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", file, len(docs)+1, err)
		}
		docs = append(docs, d)
	}
	return docs, nil
}

func newDocument(file string, body map[string]any) (document, error) {
	kind, _ := body["kind"].(string)
	name, _ := body["name"].(string)
	if !slices.Contains(kinds[:], kind) {
		return document{}, fmt.Errorf("kind: %q is not one of %s", kind, strings.Join(kinds[:], ", "))
	}
	if name == "" {
		return document{}, fmt.Errorf("name: missing in a %s", kind)
	}
	delete(body, "kind")
	delete(body, "name")
	return document{File: file, Kind: kind, Name: name, Body: body}, nil
}

// override sets top-level fields: KIND/NAME.FIELD=VALUE.
func override(docs []document, settings []string) error {
	for _, s := range settings {
		path, value, ok := strings.Cut(s, "=")
		target, field, dotted := strings.Cut(path, ".")
		if !ok || !dotted {
			return usageError{fmt.Errorf("--set %q: write KIND/NAME.FIELD=VALUE", s)}
		}
		i := slices.IndexFunc(docs, func(d document) bool { return d.Kind+"/"+d.Name == target })
		if i < 0 {
			return usageError{fmt.Errorf("--set %q: there is no %s in the documents", s, target)}
		}
		var parsed any
		if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
			return usageError{fmt.Errorf("--set %q: %w", s, err)}
		}
		docs[i].Body[field] = parsed
	}
	return nil
}

// decodeBody reads a body into the API's type, refusing unknown fields.
func decodeBody[T any](d document, body any) (T, error) {
	var out T
	text, err := json.Marshal(body)
	if err != nil {
		return out, fmt.Errorf("%s: %s: %w", d.File, d, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&out)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return out, fmt.Errorf("%s: %s: %s: a %s stands where a %s is expected", d.File, d,
			wrong.Field, wrong.Value, wrong.Type.Kind())
	}
	if err != nil {
		return out, fmt.Errorf("%s: %s: %s", d.File, d, strings.TrimPrefix(err.Error(), "json: "))
	}
	return out, nil
}

// take removes a field that is not part of the object's own body.
func (d document) take(field string) any {
	value := d.Body[field]
	delete(d.Body, field)
	return value
}

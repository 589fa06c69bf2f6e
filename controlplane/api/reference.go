package api

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// The contract as it was written: the generated copy spells ids otherwise.
//
//go:embed openapi.yaml
var contractText []byte

// The page that people read, and its style: the content security policy
// allows neither inline styles nor other hosts.
//
//go:embed reference/page.html reference/style.css
var referenceFiles embed.FS

// reference serves the contract, for programs and for people. It has nothing about
// this installation, so it needs no sign-in.
type reference struct{ json, html, css []byte }

// loadReference makes the reference once in a process: it is the same for every server.
var loadReference = sync.OnceValues(newReference)

func newReference() (*reference, error) {
	spec, err := openapi3.NewLoader().LoadFromData(contractText)
	if err != nil {
		return nil, fmt.Errorf("api: read the contract: %w", err)
	}
	r := &reference{}
	if r.json, err = json.MarshalIndent(spec, "", " "); err != nil {
		return nil, fmt.Errorf("api: encode the contract: %w", err)
	}
	page, err := template.ParseFS(referenceFiles, "reference/page.html")
	if err != nil {
		return nil, fmt.Errorf("api: read the reference page: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, newReferencePage(spec)); err != nil {
		return nil, fmt.Errorf("api: make the reference page: %w", err)
	}
	r.html = out.Bytes()
	r.css, err = referenceFiles.ReadFile("reference/style.css")
	return r, err
}

// find returns what is served at a path, and its type; nil for other paths.
func (r *reference) find(path string) (body []byte, media string) {
	switch path {
	case "/api/openapi.json":
		return r.json, "application/json"
	case "/api/docs":
		return r.html, "text/html; charset=utf-8"
	case "/api/docs.css":
		return r.css, "text/css; charset=utf-8"
	default:
		return nil, ""
	}
}

// wrapHandler serves the reference under its own paths, and passes all other requests to
// the next handler.
func (r *reference) wrapHandler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, media := r.find(req.URL.Path)
		if body == nil || req.Method != http.MethodGet && req.Method != http.MethodHead {
			next.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(body)
	})
}

// The page's parts.
type (
	referencePage struct {
		Title, Version, Description string
		Tags                        []referenceTag
		Forms                       []referenceForm
	}
	referenceTag struct {
		Name, Description string
		Operations        []referenceOperation
	}
	referenceOperation struct {
		ID, Method, Path, Access, Summary, Description string
		Parameters                                     []referenceField
		Body, Answer                                   string
		Status                                         string
	}
	referenceForm struct {
		Name, Description, Kind string
		Fields                  []referenceField
	}
	referenceField struct {
		Name, In, Kind, Form, Description string
		Required                          bool
	}
)

func newReferencePage(spec *openapi3.T) referencePage {
	page := referencePage{Title: spec.Info.Title, Version: spec.Info.Version,
		Description: spec.Info.Description}
	for _, tag := range spec.Tags {
		page.Tags = append(page.Tags, referenceTag{Name: tag.Name, Description: tag.Description,
			Operations: operationsOf(spec, tag.Name)})
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Components.Schemas)) {
		s := spec.Components.Schemas[name].Value
		page.Forms = append(page.Forms, referenceForm{Name: name, Description: s.Description,
			Kind: kindOf(s), Fields: fieldsOf(s)})
	}
	return page
}

func operationsOf(spec *openapi3.T, tag string) []referenceOperation {
	var all []referenceOperation
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(op.Tags, tag) {
				all = append(all, operationOf(method, path, op))
			}
		}
	}
	slices.SortFunc(all, func(a, b referenceOperation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return all
}

func operationOf(method, path string, op *openapi3.Operation) referenceOperation {
	access, _ := op.Extensions["x-access"].(string)
	out := referenceOperation{ID: op.OperationID, Method: method, Path: path, Access: access,
		Summary: op.Summary, Description: op.Description}
	for _, p := range op.Parameters {
		kind, form := formOf(p.Value.Schema)
		out.Parameters = append(out.Parameters, referenceField{Name: p.Value.Name, In: p.Value.In,
			Required: p.Value.Required, Kind: kind, Form: form, Description: p.Value.Description})
	}
	if op.RequestBody != nil {
		_, out.Body = formOf(firstSchema(op.RequestBody.Value.Content))
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		if strings.HasPrefix(status, "2") {
			_, out.Answer = formOf(firstSchema(op.Responses.Value(status).Value.Content))
			out.Status = status
		}
	}
	return out
}

func firstSchema(c openapi3.Content) *openapi3.SchemaRef {
	for _, media := range slices.Sorted(maps.Keys(c)) {
		return c[media].Schema
	}
	return nil
}

func fieldsOf(s *openapi3.Schema) []referenceField {
	var all []referenceField
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		kind, form := formOf(s.Properties[name])
		all = append(all, referenceField{Name: name, Kind: kind, Form: form,
			Required:    slices.Contains(s.Required, name),
			Description: s.Properties[name].Value.Description})
	}
	return all
}

// formOf names a form: its kind in words, and the component to link to.
func formOf(r *openapi3.SchemaRef) (kind, form string) {
	if r == nil || r.Value == nil {
		return "", ""
	}
	if _, name, ok := strings.Cut(r.Ref, "#/components/schemas/"); ok {
		return "", name
	}
	if r.Value.Items != nil {
		kind, form = formOf(r.Value.Items)
		return strings.TrimSpace("list of " + kind), form
	}
	return kindOf(r.Value), ""
}

func kindOf(s *openapi3.Schema) string {
	words := []string{}
	if s.Type != nil {
		words = append(words, strings.Join(s.Type.Slice(), " or "))
	}
	if s.Format != "" {
		words = append(words, "("+s.Format+")")
	}
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		words = append(words, "one of "+strings.Join(values, ", "))
	}
	return strings.Join(words, " ")
}

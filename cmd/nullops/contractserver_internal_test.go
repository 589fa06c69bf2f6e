package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// contractServer answers each operation as the contract of the API says: with every field that its
// schema has. It stands for a control plane where only the command line is tested; what the
// commands do is tested with a real one (TestEndToEnd).
type contractServer struct {
	paths   map[string]map[string]any
	schemas map[string]any
	// refuses is the status with which it refuses everything; 0 for nothing.
	refuses int
	// fields are values of fields by their names, instead of samples.
	fields map[string]any
}

func newContractServer(t *testing.T) (*contractServer, string) {
	t.Helper()
	text, err := os.ReadFile("../../controlplane/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	s := &contractServer{paths: spec.Paths, schemas: spec.Components.Schemas}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// ServeHTTP implements http.Handler.
func (s *contractServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		writeSample(w, "application/json", http.StatusOK, map[string]any{"state": "ready"})
		return
	}
	if s.refuses != 0 {
		writeSample(w, "application/problem+json", s.refuses, map[string]any{"type": "about:blank",
			"title": "refused", "status": s.refuses, "code": "refused", "request_id": "r"})
		return
	}
	operation := s.findOperation(r)
	if operation == nil {
		http.Error(w, "the contract has no "+r.Method+" "+r.URL.Path, http.StatusTeapot)
		return
	}
	status, media, schema := goodAnswer(operation)
	switch media {
	case "":
		w.WriteHeader(status)
	case "text/event-stream":
		s.writeEvents(w)
	case "application/json":
		writeSample(w, media, status, s.sample(schema, nil))
	case "application/gzip":
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = w.Write(sampleArchive())
	default:
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("content\n"))
	}
}

// sampleArchive is a support archive with nothing in it.
func sampleArchive() []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	_ = archive.WriteHeader(&tar.Header{Name: "nullops-support/README.txt", Size: 8, Mode: 0o600})
	_, _ = archive.Write([]byte("content\n"))
	_, _ = archive.Close(), zipped.Close()
	return out.Bytes()
}

func writeSample(w http.ResponseWriter, media string, status int, body any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// writeEvents writes one event of each kind that commands wait for.
func (s *contractServer) writeEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range [][2]string{{"line", "DeploymentLogLine"}, {"deployment", "Deployment"},
		{"provision", "Provision"}, {"end", "LogTrouble"}} {
		body, _ := json.Marshal(s.sample(s.schemas[event[1]].(map[string]any), nil))
		_, _ = w.Write([]byte("event: " + event[0] + "\ndata: " + string(body) + "\n\n"))
	}
}

func (s *contractServer) findOperation(r *http.Request) map[string]any {
	asked := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var best map[string]any
	fewest := len(asked) + 1
	for pattern, item := range s.paths {
		parts, variables := strings.Split(strings.Trim(pattern, "/"), "/"), 0
		if len(parts) != len(asked) {
			continue
		}
		matches := true
		for i, part := range parts {
			if strings.HasPrefix(part, "{") {
				variables++
			} else if part != asked[i] {
				matches = false
			}
		}
		operation, ok := item[strings.ToLower(r.Method)].(map[string]any)
		if matches && ok && variables < fewest {
			best, fewest = operation, variables
		}
	}
	return best
}

// goodAnswer is the first answer of an operation that is no refusal.
func goodAnswer(operation map[string]any) (status int, media string, schema map[string]any) {
	answers := operation["responses"].(map[string]any)
	for _, one := range []struct {
		key    string
		status int
	}{{"200", 200}, {"201", 201}, {"202", 202}, {"204", 204}} {
		answer, ok := answers[one.key].(map[string]any)
		if !ok {
			continue
		}
		content, _ := answer["content"].(map[string]any)
		for media, body := range content {
			schema, _ := body.(map[string]any)["schema"].(map[string]any)
			return one.status, media, schema
		}
		return one.status, "", nil
	}
	return http.StatusNoContent, "", nil
}

// settledValues are the states in which nothing is left to wait for.
var settledValues = map[string]any{"DeploymentStatus": "ready", "DrainStatus": "drained",
	"ProvisionState": "ready", "Role": "admin", "NodeStatus": "online"}

// sampleFields are fields whose value decides what a command does next: there is one page, nothing
// went wrong, nothing is left to do.
var sampleFields = map[string]any{"next_cursor": nil, "error": nil, "name": "feature-7",
	"findings": []any{}}

// sample is a value of a schema, with all optional fields. A type within itself is left out.
func (s *contractServer) sample(schema map[string]any, within []string) any {
	if slices.Equal(within, []string{"KeyRotation"}) {
		return map[string]any{"rotated": 1, "left": 0}
	}
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if value, settled := settledValues[name]; settled {
			return value
		}
		if slices.Contains(within, name) {
			return nil
		}
		return s.sample(s.schemas[name].(map[string]any), append(slices.Clone(within), name))
	}
	if parts, ok := schema["allOf"].([]any); ok {
		all := map[string]any{}
		for _, part := range parts {
			value := s.sample(part.(map[string]any), within)
			fields, isObject := value.(map[string]any)
			if !isObject {
				return value
			}
			maps.Copy(all, fields)
		}
		return all
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if parts, ok := schema[key].([]any); ok {
			return s.sample(parts[0].(map[string]any), within)
		}
	}
	if values, ok := schema["enum"].([]any); ok {
		return values[0]
	}
	if value, ok := schema["const"]; ok {
		return value
	}
	return s.sampleOfType(schema, within)
}

func (s *contractServer) sampleOfType(schema map[string]any, within []string) any {
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind, _ = kinds[0].(string)
	}
	switch kind {
	case "object":
		fields := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			value, special := s.fields[name]
			if !special {
				value, special = sampleFields[name]
			}
			if !special {
				value = s.sample(property.(map[string]any), within)
			}
			if value != nil {
				fields[name] = value
			}
		}
		if of, ok := schema["additionalProperties"].(map[string]any); ok {
			fields["key"] = s.sample(of, within)
		}
		return fields
	case "array":
		if value := s.sample(schema["items"].(map[string]any), within); value != nil {
			return []any{value}
		}
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	switch schema["format"] {
	case "date-time":
		return "2026-01-02T03:04:05Z"
	case "uuid":
		return "01920000-0000-7000-8000-000000000001"
	}
	return "web"
}

package documents

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nullops/nullops/pipeline"
)

// Surroundings are what documents may refer to outside of themselves.
type Surroundings struct {
	// Getenv returns the value of an environment variable, empty if it is not set.
	Getenv func(name string) string
	// ReadFile reads the file that a document names: name is as it stands in the document that
	// document is the file of.
	ReadFile func(document, name string) ([]byte, error)
}

// Complete fills in what documents leave out: values from environment variables, and the
// components of plugins. It collects all problems of both.
func (s Surroundings) Complete(docs []Document) error {
	var found []Problem
	for _, d := range docs {
		for _, field := range HiddenFields[d.Kind] {
			found = append(found, s.readFromEnv(d, field)...)
		}
		switch d.Kind {
		case "registry":
			found = append(found, s.readCA(d)...)
		case "plugin":
			found = append(found, s.readComponent(d)...)
		case "project":
			found = append(found, s.readSecrets(d)...)
		}
	}
	return ErrorOf(found)
}

// readFromEnv fills a field that is secret from the environment, so that it need not
// stand in a file: password from the variable that password_from_env names. Where the
// variable is empty, the control plane keeps the stored value or refuses.
func (s Surroundings) readFromEnv(d Document, field string) []Problem {
	source := field + "_from_env"
	given, ok := d.Body[source]
	if !ok || given == nil {
		return nil
	}
	name, ok := given.(string)
	switch {
	case !ok || name == "":
		return []Problem{d.NewProblem(source, "give the name of an environment variable")}
	case d.Body[field] != nil:
		return []Problem{d.NewProblem(source, "give one of "+field+" and "+source)}
	}
	if value := s.Getenv(name); value != "" {
		delete(d.Body, source)
		d.Body[field] = value
	}
	return nil
}

// readComponent reads a plugin's component from the file that the document may
// name instead.
func (s Surroundings) readComponent(d Document) []Problem {
	const field = "component_file"
	text, found := s.readFileField(d, field)
	if text == nil {
		if at := yamlField(d.node, "component"); at != nil {
			d.notePropertyOrder(orderedJSON(at))
		}
		return found
	}
	file := d.Body[field]
	if err := pipeline.CheckJSON(text); err != nil {
		return []Problem{d.NewProblem(field, fmt.Sprintf("%s: %v", file, err))}
	}
	var component any
	if err := json.Unmarshal(text, &component); err != nil {
		return []Problem{d.NewProblem(field, fmt.Sprintf("%s is not JSON: %v", file, err))}
	}
	delete(d.Body, field)
	d.Body["component"] = component
	d.notePropertyOrder(text)
	return nil
}

// notePropertyOrder keeps the order in which a component's schemas were written: the body is sent
// with its names sorted.
func (d Document) notePropertyOrder(text []byte) {
	component, _ := d.Body["component"].(map[string]any)
	var written map[string]json.RawMessage
	if json.Unmarshal(text, &written) != nil {
		return
	}
	for _, schema := range []string{"parameters", "outputs"} {
		pipeline.NotePropertyOrder(component[schema], written[schema])
	}
}

// readCA reads a registry's authorities from the file that the document may name
// instead.
func (s Surroundings) readCA(d Document) []Problem {
	const field = "ca_file"
	text, found := s.readFileField(d, field)
	if text == nil {
		return found
	}
	if d.Body["ca"] != nil {
		return []Problem{d.NewProblem(field, "give one of ca and ca_file")}
	}
	delete(d.Body, field)
	d.Body["ca"] = string(text)
	return nil
}

// readFileField reads the file that a field names. It returns nil for a field that is not set.
func (s Surroundings) readFileField(d Document, field string) ([]byte, []Problem) {
	given, ok := d.Body[field]
	if !ok || given == nil {
		return nil, nil
	}
	path, ok := given.(string)
	if !ok || path == "" {
		return nil, []Problem{d.NewProblem(field, "give the name of a file")}
	}
	text, err := s.ReadFile(d.File, path)
	if err != nil {
		return nil, []Problem{d.NewProblem(field, err.Error())}
	}
	return text, nil
}

// countSources is how many ways to get a value a secret in YAML has.
func countSources(secret map[string]any) (n int) {
	for _, source := range []string{"generate", "vault", "from_env"} {
		if secret[source] != nil {
			n++
		}
	}
	return n
}

// readSecrets fills in values from the environment. A secret in YAML is generated, kept in
// Vault, or taken from a variable, so that no value stands in a file.
func (s Surroundings) readSecrets(d Document) (found []Problem) {
	secrets, ok := d.Body["secrets"].(map[string]any)
	if !ok {
		// The control plane says what belongs there.
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		at := "secrets." + name
		secret, ok := secrets[name].(map[string]any)
		if !ok {
			found = append(found, d.NewProblem(at, "give exactly one of generate, vault and from_env"))
			continue
		}
		variable, isText := secret["from_env"].(string)
		switch {
		case secret["value"] != nil:
			found = append(found, d.NewProblem(at+".value", "a value does not stand in a document; "+
				"give from_env, with the name of an environment variable that holds it"))
		case countSources(secret) != 1:
			found = append(found, d.NewProblem(at, "give exactly one of generate, vault and from_env"))
		case secret["from_env"] == nil:
		case !isText || variable == "":
			found = append(found, d.NewProblem(at+".from_env",
				"give the name of an environment variable"))
		case s.Getenv(variable) != "":
			secrets[name] = map[string]any{"value": s.Getenv(variable)}
		}
	}
	return found
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/nullops/nullops/pipeline"
)

// completeDocuments fills in what documents leave out: values from the environment of the caller,
// and the components of plugins. It collects all problems of both.
func completeDocuments(docs []document) error {
	var found []documentProblem
	for _, d := range docs {
		for _, field := range hiddenFields[d.Kind] {
			found = append(found, d.readFromEnv(field)...)
		}
		switch d.Kind {
		case "registry":
			found = append(found, d.readCA()...)
		case "plugin":
			found = append(found, d.readComponent()...)
		case "project":
			found = append(found, d.readSecrets()...)
		}
	}
	return problemsOrNil(found)
}

// readFromEnv fills a field that is secret from the environment, so that it need not
// stand in a file: password from the variable that password_from_env names. Where the
// variable is empty, the control plane keeps the stored value or refuses.
func (d document) readFromEnv(field string) []documentProblem {
	source := field + "_from_env"
	given, ok := d.Body[source]
	if !ok || given == nil {
		return nil
	}
	name, ok := given.(string)
	switch {
	case !ok || name == "":
		return []documentProblem{d.newProblem(source, "give the name of an environment variable")}
	case d.Body[field] != nil:
		return []documentProblem{d.newProblem(source, "give one of "+field+" and "+source)}
	}
	if value := os.Getenv(name); value != "" {
		delete(d.Body, source)
		d.Body[field] = value
	}
	return nil
}

// readComponent reads a plugin's component from the file that the document may
// name instead.
func (d document) readComponent() []documentProblem {
	const field = "component_file"
	text, found := d.readFileField(field)
	if text == nil {
		if at := yamlField(d.node, "component"); at != nil {
			d.notePropertyOrder(orderedJSON(at))
		}
		return found
	}
	file := d.Body[field]
	if err := pipeline.CheckJSON(text); err != nil {
		return []documentProblem{d.newProblem(field, fmt.Sprintf("%s: %v", file, err))}
	}
	var component any
	if err := json.Unmarshal(text, &component); err != nil {
		return []documentProblem{d.newProblem(field, fmt.Sprintf("%s is not JSON: %v", file, err))}
	}
	delete(d.Body, field)
	d.Body["component"] = component
	d.notePropertyOrder(text)
	return nil
}

// notePropertyOrder keeps the order in which a component's schemas were written: the body is sent
// with its names sorted.
func (d document) notePropertyOrder(text []byte) {
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
func (d document) readCA() []documentProblem {
	const field = "ca_file"
	text, found := d.readFileField(field)
	if text == nil {
		return found
	}
	if d.Body["ca"] != nil {
		return []documentProblem{d.newProblem(field, "give one of ca and ca_file")}
	}
	delete(d.Body, field)
	d.Body["ca"] = string(text)
	return nil
}

// readFileField reads the file that a field names: an absolute path, or one relative
// to the document. It returns nil for a field that is not set.
func (d document) readFileField(field string) ([]byte, []documentProblem) {
	given, ok := d.Body[field]
	if !ok || given == nil {
		return nil, nil
	}
	path, ok := given.(string)
	if !ok || path == "" {
		return nil, []documentProblem{d.newProblem(field, "give the name of a file")}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.File), path)
	}
	text, err := os.ReadFile(path)
	if why, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s cannot be read: %w", path, why.Err)
	}
	if err != nil {
		return nil, []documentProblem{d.newProblem(field, err.Error())}
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
func (d document) readSecrets() (found []documentProblem) {
	secrets, ok := d.Body["secrets"].(map[string]any)
	if !ok {
		// The control plane says what belongs there.
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		at := "secrets." + name
		secret, ok := secrets[name].(map[string]any)
		if !ok {
			found = append(found, d.newProblem(at, "give exactly one of generate, vault and from_env"))
			continue
		}
		variable, isText := secret["from_env"].(string)
		switch {
		case secret["value"] != nil:
			found = append(found, d.newProblem(at+".value", "a value does not stand in a document; "+
				"give from_env, with the name of an environment variable that holds it"))
		case countSources(secret) != 1:
			found = append(found, d.newProblem(at, "give exactly one of generate, vault and from_env"))
		case secret["from_env"] == nil:
		case !isText || variable == "":
			found = append(found, d.newProblem(at+".from_env",
				"give the name of an environment variable"))
		case os.Getenv(variable) != "":
			secrets[name] = map[string]any{"value": os.Getenv(variable)}
		}
	}
	return found
}

package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// kinds are the kinds of documents, in the order they are exported: each only
// refers to ones before it.
var kinds = [...]string{"registry", "service", "plugin", "environment", "node-template", "node",
	"user", "project", "team", "webhook", "rule"}

// document is one YAML document: kind and name say what it is, the rest is the
// body that the API takes.
type document struct {
	File string
	Kind string
	Name string
	Body map[string]any
	// node is where it stands in the file; nil for what stands in none.
	node *yaml.Node
}

func (d document) String() string { return d.Kind + " " + d.Name }

// fileLine is the file and line where the document begins.
func (d document) fileLine() string { return fmt.Sprintf("%s:%d", d.File, d.node.Line) }

// readDocuments reads files, every .yaml and .yml file of folders, and standard
// input for "-". It finds all that is wrong with them.
func readDocuments(paths []string, stdin io.Reader) ([]document, error) {
	var docs []document
	var found []documentProblem
	for _, path := range paths {
		files, err := documentFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := readFileOr(file, stdin)
			if err != nil {
				return nil, err
			}
			more, problems := parseDocuments(file, text)
			docs, found = append(docs, more...), append(found, problems...)
		}
	}
	if len(docs)+len(found) == 0 {
		return nil, fmt.Errorf("%s holds no documents", strings.Join(paths, " and "))
	}
	return docs, problemsOrNil(append(found, findDuplicates(docs)...))
}

// findDuplicates finds documents with the same kind and name: which of them would count
// depends on the order of files.
func findDuplicates(docs []document) (found []documentProblem) {
	first := map[string]document{}
	for _, d := range docs {
		was, twice := first[d.String()]
		if !twice {
			first[d.String()] = d
			continue
		}
		found = append(found, documentProblem{file: d.File, line: d.node.Line, what: d.String(),
			message: "it is already defined at " + was.fileLine(), remedy: "Remove one of the two."})
	}
	return found
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
	// Never a part of it: what is cut off would look deleted to --prune.
	return io.ReadAll(stdin)
}

func parseDocuments(file string, text []byte) (docs []document, found []documentProblem) {
	parsed, err := parseYAML(text)
	if err != nil {
		return nil, []documentProblem{yamlProblem(file, err)}
	}
	for _, one := range parsed {
		if one.body == nil {
			continue
		}
		d, problem := newDocument(file, one)
		if problem != nil {
			found = append(found, *problem)
			continue
		}
		docs = append(docs, d)
	}
	return docs, found
}

func newDocument(file string, from yamlDocument) (document, *documentProblem) {
	d := document{File: file, Body: from.body, node: from.node}
	refuse := func(field, message string) (document, *documentProblem) {
		return d, &documentProblem{file: file, line: d.lineOf("", field), field: field,
			message: message}
	}
	kind, isText := d.Body["kind"].(string)
	if !isText || !slices.Contains(kinds[:], kind) {
		return refuse("kind", fmt.Sprintf("%q is not one of %s", kind, strings.Join(kinds[:], ", ")))
	}
	name, isText := d.Body["name"].(string)
	if !isText || name == "" {
		return refuse("name", "a "+kind+" needs a name, which is text")
	}
	delete(d.Body, "kind")
	delete(d.Body, "name")
	d.Kind, d.Name = kind, name
	return d, nil
}

// applyOverrides sets top-level fields: KIND/NAME.FIELD=VALUE.
func applyOverrides(docs []document, settings []string) error {
	for _, s := range settings {
		path, value, ok := strings.Cut(s, "=")
		target, field, dotted := strings.Cut(path, ".")
		if !ok || !dotted {
			return exit.AsUsageError(fmt.Errorf("--set %q: write KIND/NAME.FIELD=VALUE", s))
		}
		i := slices.IndexFunc(docs, func(d document) bool { return d.Kind+"/"+d.Name == target })
		if i < 0 {
			return exit.AsUsageError(fmt.Errorf("--set %q: there is no %s in the documents", s, target))
		}
		var parsed any
		if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
			return exit.AsUsageError(fmt.Errorf("--set %q: %w", s, err))
		}
		docs[i].Body[field] = parsed
	}
	return nil
}

// Package documents reads YAML documents that define what admins define: services, environments,
// projects and others. It names every problem with its file, line and field. The command line uses
// it for files, the control plane for repositories; what the documents mean, the API decides.
package documents

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// HiddenFields are those that the API takes and never returns: a document names the
// environment variable that holds one, as in password_from_env.
var HiddenFields = map[string][]string{
	"registry": {"password"}, "user": {"password"},
	"webhook": {"url", "secret"}, "rule": {"secret", "token"},
}

// Kinds are the kinds of documents, in the order they are exported: each only
// refers to ones before it.
var Kinds = [...]string{"registry", "service", "plugin", "environment", "node-template", "node",
	"user", "project", "team", "webhook", "rule"}

// Document is one YAML document: kind and name say what it is, the rest is the
// body that the API takes.
type Document struct {
	File string
	Kind string
	Name string
	Body map[string]any
	// node is where it stands in the file; nil for what stands in none.
	node *yaml.Node
}

func (d Document) String() string { return d.Kind + " " + d.Name }

// fileLine is the file and line where the document begins.
func (d Document) fileLine() string { return fmt.Sprintf("%s:%d", d.File, d.node.Line) }

// FindDuplicates finds documents with the same kind and name: which of them would count
// depends on the order of files.
func FindDuplicates(docs []Document) (found []Problem) {
	first := map[string]Document{}
	for _, d := range docs {
		was, twice := first[d.String()]
		if !twice {
			first[d.String()] = d
			continue
		}
		found = append(found, Problem{File: d.File, Line: d.node.Line, What: d.String(),
			Message: "it is already defined at " + was.fileLine(), Remedy: "Remove one of the two."})
	}
	return found
}

// Parse reads every document of a text. file is what its problems call it.
func Parse(file string, text []byte) (docs []Document, found []Problem) {
	parsed, err := parseYAML(text)
	if err != nil {
		return nil, []Problem{yamlProblem(file, err)}
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

func newDocument(file string, from yamlDocument) (Document, *Problem) {
	d := Document{File: file, Body: from.body, node: from.node}
	refuse := func(field, message string) (Document, *Problem) {
		return d, &Problem{File: file, Line: d.LineOf("", field), Field: field,
			Message: message}
	}
	kind, isText := d.Body["kind"].(string)
	if !isText || !slices.Contains(Kinds[:], kind) {
		return refuse("kind", fmt.Sprintf("%q is not one of %s", kind, strings.Join(Kinds[:], ", ")))
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

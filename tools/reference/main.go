// Command reference writes the pages of docs/reference that are made of the contract of the API
// and of the code, and fails if something there has no description:
//
//	tools/run reference
//
// The pages of the commands and settings come from the program itself, see
// cmd/nullops/internal/reference.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := writeReference("docs/reference"); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func writeReference(folder string) error {
	c, err := readContract("controlplane/api/openapi.yaml", "controlplane/api/fields.yaml")
	if err != nil {
		return err
	}
	documents, err := c.documentsPage("controlplane/api/documentkinds.go")
	if err != nil {
		return err
	}
	failures, err := errorsPage(".")
	if err != nil {
		return err
	}
	pages := map[string]string{"api.md": c.apiPage(), "documents.md": documents,
		"steps.md": c.stepsPage(), "events.md": c.eventsPage(), "errors.md": failures}
	if len(c.missing) > 0 {
		slices.Sort(c.missing)
		return errors.New("no description, in openapi.yaml or fields.yaml, has\n  " +
			strings.Join(slices.Compact(c.missing), "\n  "))
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const generatedNote = "<!-- Made by tools/run reference from the code. Do not edit. -->\n\n"

// contract is the API's description, in the order in which it is written.
type contract struct {
	root    *yaml.Node
	schemas []pair
	fields  map[string]string
	// missing are fields without a description.
	missing []string
}

// pair is one entry of a mapping.
type pair struct {
	key   string
	value *yaml.Node
}

func readContract(spec, fields string) (*contract, error) {
	c := &contract{fields: map[string]string{}}
	text, err := os.ReadFile(fields)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &c.fields); err != nil {
		return nil, fmt.Errorf("%s: %w", fields, err)
	}
	if text, err = os.ReadFile(spec); err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", spec, err)
	}
	c.root = document.Content[0]
	c.schemas = entries(find(c.root, "components", "schemas"))
	return c, nil
}

// entries are the pairs of a mapping; none for anything else.
func entries(n *yaml.Node) (all []pair) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, pair{n.Content[i].Value, n.Content[i+1]})
	}
	return all
}

// find walks down mappings by their keys; nil if there is no such place.
func find(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		i := slices.IndexFunc(entries(n), func(p pair) bool { return p.key == key })
		if i < 0 {
			return nil
		}
		n = entries(n)[i].value
	}
	return n
}

func text(n *yaml.Node, path ...string) string {
	if found := find(n, path...); found != nil && found.Kind == yaml.ScalarNode {
		return found.Value
	}
	return ""
}

func items(n *yaml.Node, path ...string) (all []string) {
	if found := find(n, path...); found != nil && found.Kind == yaml.SequenceNode {
		for _, item := range found.Content {
			all = append(all, item.Value)
		}
	}
	return all
}

func (c *contract) schema(name string) *yaml.Node {
	return find(c.root, "components", "schemas", name)
}

func refName(n *yaml.Node) string {
	ref := text(n, "$ref")
	return ref[strings.LastIndex(ref, "/")+1:]
}

// describe is what a field of a schema means.
func (c *contract) describe(schema, field string, n *yaml.Node) string {
	if said := text(n, "description"); said != "" {
		return said
	}
	last := schema[strings.LastIndex(schema, ".")+1:]
	for _, key := range []string{schema + "." + field, last + "." + field} {
		if said := c.fields[key]; said != "" {
			return said
		}
	}
	said := c.fields[field]
	if ref := c.schema(refName(n)); ref != nil && (said == "" || text(ref, "type") != "string") {
		// What a schema says of its values fits better than the field's name, unless all that it
		// says is how they are written.
		if of := text(ref, "description"); of != "" {
			return of
		}
	}
	if said == "" {
		c.missing = append(c.missing, schema+"."+field)
	}
	return said
}

// properties are the fields of a schema, with those of the schemas that it extends.
func (c *contract) properties(n *yaml.Node) (all []pair, required []string) {
	if ref := refName(n); ref != "" {
		return c.properties(c.schema(ref))
	}
	if parts := find(n, "allOf"); parts != nil {
		for _, part := range parts.Content {
			fields, must := c.properties(part)
			all, required = append(all, fields...), append(required, must...)
		}
	}
	return append(all, entries(find(n, "properties"))...), append(required, items(n, "required")...)
}

// cell is a text in a table's cell, in which nothing is markup but code.
func cell(said string) string {
	said = strings.Join(strings.Fields(said), " ")
	return strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "{{", "&#123;&#123;",
		"}}", "&#125;&#125;").Replace(said)
}

package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// documentProblem is one thing to change in a document. Problems that this program
// finds and those of the control plane are printed by the same code.
type documentProblem struct {
	file string
	line int
	// what is the document's kind and name, step and field the place in it.
	what, step, field string
	message, remedy   string
	users             []string
}

func (p documentProblem) String() string {
	var b strings.Builder
	switch {
	case p.file != "" && p.line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.file, p.line)
	case p.file != "":
		fmt.Fprintf(&b, "%s: ", p.file)
	}
	var place []string
	for _, part := range []string{p.what, cmp.Or(strings.TrimSpace("step "+p.step), ""), p.field} {
		if part != "" && part != "step" {
			place = append(place, part)
		}
	}
	if len(place) > 0 {
		b.WriteString(strings.Join(place, ", ") + ": ")
	}
	b.WriteString(p.message)
	for _, user := range p.users {
		b.WriteString("\n    used by " + user)
	}
	if p.remedy != "" {
		b.WriteString("\n    " + p.remedy)
	}
	return b.String()
}

// documentsError is everything that is wrong with a set of documents.
type documentsError struct{ problems []documentProblem }

func (e *documentsError) Error() string {
	sorted := slices.Clone(e.problems)
	slices.SortStableFunc(sorted, func(a, b documentProblem) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	count := "one problem"
	if len(sorted) > 1 {
		count = strconv.Itoa(len(sorted)) + " problems"
	}
	lines := []string{"the documents have " + count + ", so nothing was changed"}
	for _, p := range sorted {
		lines = append(lines, strings.Split(p.String(), "\n")...)
	}
	return strings.Join(lines, "\n  ")
}

// problemsOrNil returns an error if there are problems.
func problemsOrNil(all []documentProblem) error {
	if len(all) == 0 {
		return nil
	}
	return &documentsError{all}
}

// newProblem is one at a field of the document.
func (d document) newProblem(field, message string) documentProblem {
	return documentProblem{file: d.File, line: d.lineOf("", field), what: d.String(),
		field: field, message: message}
}

var pipelineStep = regexp.MustCompile(`^pipeline\.steps(?:\.|\[)(\d+)\]?\.?(.*)$`)

// stepOf names the step that a field is in, and the field from there on.
func (d document) stepOf(field string) (step, rest string) {
	m := pipelineStep.FindStringSubmatch(field)
	graph, _ := d.Body["pipeline"].(map[string]any)
	steps, _ := graph["steps"].([]any)
	if m == nil {
		return "", field
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i >= len(steps) {
		return "", field
	}
	one, _ := steps[i].(map[string]any)
	if key, _ := one["key"].(string); key != "" {
		return key, m[2]
	}
	return "", field
}

// lineOf returns the line of a field, or of the nearest thing around it that stands in the file.
func (d document) lineOf(step, field string) int {
	if d.node == nil {
		return 0
	}
	line, at := d.node.Line, d.node
	if step != "" {
		for _, name := range []string{"pipeline", "steps"} {
			if key, value := childOf(at, name); value != nil {
				line, at = key.Line, value
			}
		}
		for _, item := range at.Content {
			if _, key := childOf(item, "key"); key != nil && key.Value == step {
				line, at = item.Line, item
			}
		}
	}
	return lineBelow(at, field, line)
}

// lineBelow follows a path such as service.env.PORT, files[0].path or steps.0.key.
// A key may hold any character, so the longest one that fits counts.
func lineBelow(n *yaml.Node, path string, line int) int {
	for path = strings.TrimLeft(path, "."); path != ""; path = strings.TrimLeft(path, ".") {
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			var key *yaml.Node
			if key, next = longestChild(n, path); next == nil {
				return line
			}
			line, path = key.Line, path[len(key.Value):]
		case yaml.SequenceNode:
			if next, path = itemOf(n, path); next == nil {
				return line
			}
			line = next.Line
		default:
			return line
		}
		n = next
	}
	return line
}

func childOf(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

func longestChild(n *yaml.Node, path string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		rest, fits := strings.CutPrefix(path, n.Content[i].Value)
		if !fits || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if key == nil || len(n.Content[i].Value) > len(key.Value) {
			key, value = n.Content[i], n.Content[i+1]
		}
	}
	return key, value
}

var listItem = regexp.MustCompile(`^(?:\[(\d+)\]|\["([^"]*)"\]|(\d+))`)

// itemOf finds an item by its number, or by its name as in ports["http"].
func itemOf(n *yaml.Node, path string) (item *yaml.Node, rest string) {
	m := listItem.FindStringSubmatch(path)
	if m == nil {
		return nil, path
	}
	rest = path[len(m[0]):]
	if m[2] != "" {
		for _, item := range n.Content {
			if _, name := childOf(item, "name"); name != nil && name.Value == m[2] {
				return item, rest
			}
		}
		return nil, path
	}
	i, err := strconv.Atoi(m[1] + m[3])
	if err != nil || i >= len(n.Content) {
		return nil, path
	}
	return n.Content[i], rest
}

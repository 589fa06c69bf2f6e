package documents

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one thing to change in a document. Problems that this program
// finds and those of the control plane are printed by the same code.
type Problem struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// What is the document's kind and name, Step and Field the place in it.
	What    string   `json:"what,omitempty"`
	Step    string   `json:"step,omitempty"`
	Field   string   `json:"field,omitempty"`
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"`
	Users   []string `json:"users,omitempty"`
}

func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	var place []string
	for _, part := range []string{p.What, cmp.Or(strings.TrimSpace("step "+p.Step), ""), p.Field} {
		if part != "" && part != "step" {
			place = append(place, part)
		}
	}
	if len(place) > 0 {
		b.WriteString(strings.Join(place, ", ") + ": ")
	}
	b.WriteString(p.Message)
	for _, user := range p.Users {
		b.WriteString("\n    used by " + user)
	}
	if p.Remedy != "" {
		b.WriteString("\n    " + p.Remedy)
	}
	return b.String()
}

// At is the problem, found by the control plane, at its place in the document that it is about.
func (p Problem) At(d Document) Problem {
	if p.Step == "" {
		p.Step, p.Field = d.StepOf(p.Field)
	}
	p.File, p.What = d.File, d.String()
	p.Line = d.LineOf(p.Step, p.Field)
	return p
}

// Error is everything that is wrong with a set of documents.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	sorted := slices.Clone(e.Problems)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
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

// ErrorOf returns an error if there are problems.
func ErrorOf(all []Problem) error {
	if len(all) == 0 {
		return nil
	}
	return &Error{all}
}

// NewProblem is one at a field of the document.
func (d Document) NewProblem(field, message string) Problem {
	return Problem{File: d.File, Line: d.LineOf("", field), What: d.String(),
		Field: field, Message: message}
}

var pipelineStep = regexp.MustCompile(`^pipeline\.steps(?:\.|\[)(\d+)\]?\.?(.*)$`)

// StepOf names the step that a field is in, and the field from there on.
func (d Document) StepOf(field string) (step, rest string) {
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

// LineOf returns the line of a field, or of the nearest thing around it that stands in the file.
func (d Document) LineOf(step, field string) int {
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

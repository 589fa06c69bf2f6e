package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/pipeline"
)

// yamlDocument is one document as JSON would read it, and where its parts stand.
type yamlDocument struct {
	body map[string]any
	node *yaml.Node
}

// lineError is a refusal at a line of a text.
type lineError struct {
	line           int
	field, message string
}

func (e *lineError) Error() string {
	if e.field == "" {
		return fmt.Sprintf("line %d: %s", e.line, e.message)
	}
	return fmt.Sprintf("line %d: %s: %s", e.line, e.field, e.message)
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// yamlProblem puts what cannot be read at its line.
func yamlProblem(file string, err error) Problem {
	if at, ok := errors.AsType[*lineError](err); ok {
		return Problem{File: file, Line: at.line, Field: at.field, Message: at.message}
	}
	// The library has no type for it.
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return Problem{File: file, Message: err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	return Problem{File: file, Line: line, Message: "this is not YAML: " + m[2]}
}

// parseYAML reads every document of a text as JSON would read it: keys are
// text, dates stay text, nothing is merged or repeated by an alias. Duplicate
// keys, nesting beyond pipeline.MaxDepth, invalid UTF-8 and numbers that a JSON
// reader would change are refused. Errors name the line and the field.
func parseYAML(text []byte) ([]yamlDocument, error) {
	if at := invalidUTF8(text); at > 0 {
		return nil, &lineError{at, "", "the text is not valid UTF-8; save the file as UTF-8"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var all []yamlDocument
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		value, err := yamlValue(&node, "", 0)
		if err != nil {
			return nil, err
		}
		body, ok := value.(map[string]any)
		if value != nil && !ok {
			return nil, &lineError{node.Line, "", "a document is a mapping, such as kind: service"}
		}
		one := yamlDocument{body: body, node: &node}
		if len(node.Content) > 0 {
			one.node = node.Content[0]
		}
		all = append(all, one)
	}
}

// invalidUTF8 returns the line, from 1, of the first byte that is not UTF-8,
// or 0.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(text[:i], []byte("\n"))
		}
		i += size
	}
	return 0
}

func yamlValue(n *yaml.Node, path string, depth int) (any, error) {
	if depth > pipeline.MaxDepth {
		return nil, yamlError(n, path, "nested deeper than %d levels", pipeline.MaxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return yamlValue(n.Content[0], path, depth)
	case yaml.MappingNode:
		return yamlMapping(n, path, depth)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			value, err := yamlValue(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	case yaml.ScalarNode:
		return yamlScalar(n, path)
	}
	return nil, yamlError(n, path, "aliases are not supported; write the value out")
}

func yamlMapping(n *yaml.Node, path string, depth int) (any, error) {
	object := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, yamlError(key, path, "a key is text; write merged keys out")
		}
		at := key.Value
		if path != "" {
			at = path + "." + key.Value
		}
		if _, twice := object[key.Value]; twice {
			return nil, yamlError(key, at, "the key stands there twice; remove one")
		}
		value, err := yamlValue(n.Content[i+1], at, depth+1)
		if err != nil {
			return nil, err
		}
		object[key.Value] = value
	}
	return object, nil
}

func yamlScalar(n *yaml.Node, path string) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		return yamlNumber(n, path)
	case "!!str", "!!timestamp":
		// The library makes text of a number that no float64 can hold.
		if _, err := strconv.ParseFloat(n.Value, 64); errors.Is(err, strconv.ErrRange) &&
			n.Style == 0 {
			return nil, yamlError(n, path, "the number %s is out of range", n.Value)
		}
		return n.Value, nil
	}
	return nil, yamlError(n, path, "the tag %s is not supported", n.Tag)
}

// yamlNumber accepts only numbers that every JSON reader reads alike.
func yamlNumber(n *yaml.Node, path string) (any, error) {
	const exact = 1 << 53
	var f float64
	if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, yamlError(n, path, "the number %s is out of range", n.Value)
	}
	if n.ShortTag() == "!!float" {
		return f, nil
	}
	if math.Abs(f) >= exact {
		return nil, yamlError(n, path,
			"the number %s cannot be kept exactly; quote it to make it text", n.Value)
	}
	return int64(f), nil
}

func yamlError(n *yaml.Node, path, format string, args ...any) error {
	if path == "" {
		path = "the document"
	}
	return &lineError{n.Line, path, fmt.Sprintf(format, args...)}
}

// yamlField is the value of a mapping's field; nil if it has none of that name.
func yamlField(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// orderedJSON writes a node with its names in the order of the file. Of its values it has the
// lists and mappings only.
func orderedJSON(n *yaml.Node) []byte {
	parts := make([][]byte, 0, len(n.Content))
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			// A text is always JSON.
			name, _ := json.Marshal(n.Content[i].Value)
			parts = append(parts, slices.Concat(name, []byte{':'}, orderedJSON(n.Content[i+1])))
		}
		return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, orderedJSON(item))
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	}
	return []byte("null")
}

// JSONToYAML turns one JSON document into a YAML node with the keys in the same order, so that
// equal input produces equal output.
func JSONToYAML(text []byte) (*yaml.Node, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return nextYAML(decoder)
}

func nextYAML(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		return nestedYAML(decoder, v)
	case string:
		return TextNode(v), nil
	case json.Number:
		tag := "!!int"
		if _, err := strconv.ParseInt(string(v), 10, 64); err != nil {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(v)}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

func nestedYAML(decoder *json.Decoder, open json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if open == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for decoder.More() {
		item, err := nextYAML(decoder)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	_, err := decoder.Token()
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n, err
}

// TextNode lets the encoder choose the style: quotes where a reader would see
// something else than text, blocks for several lines.
func TextNode(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

package compose

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// places says on which line what is.
type places struct {
	top       map[string]int
	services  map[string]map[string]int
	variables []int
	// root is the document without aliases and merge keys.
	root *yaml.Node
}

var variable = regexp.MustCompile(`\$(\{|[A-Za-z_])`)

func find(text []byte) (places, error) {
	p := places{top: map[string]int{}, services: map[string]map[string]int{}}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return p, fmt.Errorf("this is no compose file: %w", err)
	}
	if len(root.Content) == 0 {
		return p, fmt.Errorf("this is no compose file: it is empty")
	}
	size := 0
	resolved, err := resolveNode(root.Content[0], 0, &size)
	if err != nil {
		return p, err
	}
	p.root = resolved
	each(p.root, func(key, value *yaml.Node) {
		p.top[key.Value] = key.Line
		if key.Value != "services" {
			return
		}
		each(value, func(name, service *yaml.Node) {
			fields := map[string]int{"": name.Line}
			each(service, func(field, _ *yaml.Node) { fields[field.Value] = field.Line })
			p.services[name.Value] = fields
		})
	})
	for i, line := range strings.Split(string(text), "\n") {
		if variable.MatchString(strings.ReplaceAll(line, "$$", "")) {
			p.variables = append(p.variables, i+1)
		}
	}
	return p, nil
}

func each(n *yaml.Node, fn func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		fn(n.Content[i], n.Content[i+1])
	}
}

// line is the field's, or the service's where the field is not written.
func (p places) line(service, field string) int {
	if line := p.services[service][field]; line > 0 {
		return line
	}
	return p.services[service][""]
}

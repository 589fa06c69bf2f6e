package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// places says on which line what is.
type places struct {
	top       map[string]int
	services  map[string]map[string]int
	variables []int
}

func find(text []byte) (places, error) {
	p := places{top: map[string]int{}, services: map[string]map[string]int{}}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return p, fmt.Errorf("this is no compose file: %w", err)
	}
	if len(root.Content) == 0 {
		return p, fmt.Errorf("this is no compose file: it is empty")
	}
	each(root.Content[0], func(key, value *yaml.Node) {
		p.top[key.Value] = key.Line
		if key.Value != "services" {
			return
		}
		each(value, func(name, service *yaml.Node) {
			fields := map[string]int{"": name.Line}
			note(service, fields)
			p.services[name.Value] = fields
		})
	})
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(strings.ReplaceAll(line, "$$", ""), "${") {
			p.variables = append(p.variables, i+1)
		}
	}
	return p, nil
}

// note says where a service's fields are. What it takes over from an anchor is on
// the line of that; its own fields win.
func note(service *yaml.Node, fields map[string]int) {
	each(service, func(field, value *yaml.Node) {
		if field.Value != "<<" {
			fields[field.Value] = field.Line
			return
		}
		for _, from := range append([]*yaml.Node{value}, value.Content...) {
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			each(from, func(field, _ *yaml.Node) {
				if _, own := fields[field.Value]; !own {
					fields[field.Value] = field.Line
				}
			})
		}
	})
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

func (p places) fields(service string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.services[service])),
		func(s string) bool { return s == "" })
}

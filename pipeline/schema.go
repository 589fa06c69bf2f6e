package pipeline

import "slices"

// SecretOutput reports whether the output's schema says "writeOnly": true.
func (c *Component) SecretOutput(name string) bool {
	property, ok := schemaProperty(c.Outputs, name)
	if !ok {
		return false
	}
	secret, _ := property["writeOnly"].(bool)
	return secret
}

// declaresOutputs reports whether the outputs are listed, so that one that is
// not listed cannot exist.
func (c *Component) declaresOutputs() bool {
	_, ok := c.Outputs["properties"].(map[string]any)
	return ok
}

func schemaProperty(schema map[string]any, name string) (map[string]any, bool) {
	properties, _ := schema["properties"].(map[string]any)
	property, ok := properties[name].(map[string]any)
	if !ok {
		// A property may be the schema true, which says nothing of its type.
		_, ok = properties[name]
	}
	return property, ok
}

// schemaTypes returns the JSON types a schema allows; none means any.
func schemaTypes(property map[string]any) []string {
	switch t := property["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var types []string
		for _, item := range t {
			if s, ok := item.(string); ok {
				types = append(types, s)
			}
		}
		return types
	}
	return nil
}

func schemaRequired(schema map[string]any) []string {
	var names []string
	list, _ := schema["required"].([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			names = append(names, s)
		}
	}
	if typed, ok := schema["required"].([]string); ok {
		names = typed
	}
	return names
}

// typesFit reports whether a value of one of the types may stand where one of
// the wanted types is expected. Every integer is a number.
func typesFit(have, want []string) bool {
	if len(have) == 0 || len(want) == 0 {
		return true
	}
	for _, t := range have {
		if slices.Contains(want, t) {
			return true
		}
		if t == "integer" && slices.Contains(want, "number") {
			return true
		}
		// A number may turn out whole; only the run can tell.
		if t == "number" && slices.Contains(want, "integer") {
			return true
		}
	}
	return false
}

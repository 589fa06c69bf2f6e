package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/traefik/paerser/file"
	"go.yaml.in/yaml/v3"
)

// readConfig fills settings from a YAML, JSON or TOML file. An unknown setting is
// an error, also at the top, where paerser would pass over it.
func readConfig(path string, s *Settings) error {
	if filepath.Ext(path) != ".toml" {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("config file: %w", err)
		}
		var top map[string]any
		if err := yaml.Unmarshal(text, &top); err != nil {
			return fmt.Errorf("config file %s: %w", path, err)
		}
		if unknown := unknownSettings(top); len(unknown) > 0 {
			return fmt.Errorf("config file %s: there is no setting %s; see 'nullops help settings'",
				path, strings.Join(unknown, ", "))
		}
	}
	if err := file.Decode(path, s); err != nil {
		return fmt.Errorf("config file %s: %w; see 'nullops help settings'", path, err)
	}
	return nil
}

func unknownSettings(top map[string]any) (unknown []string) {
	t := reflect.TypeFor[Settings]()
	for _, name := range slices.Sorted(maps.Keys(top)) {
		known := false
		for field := range t.Fields() {
			known = known || strings.EqualFold(field.Name, name)
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

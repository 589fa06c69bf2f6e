package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/traefik/paerser/parser"
	"go.yaml.in/yaml/v3"
)

// readConfig fills settings from a YAML, JSON or TOML file. An unknown setting is
// an error, also at the top, where paerser would pass over it. paerser's own reader of
// files is not used: it needs gopkg.in/yaml.v3, which is unmaintained.
func readConfig(path string, s *Settings) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("config file: %w", err)
	}
	var top map[string]any
	switch extension := filepath.Ext(path); extension {
	case ".toml":
		err = toml.Unmarshal(text, &top)
	case ".yml", ".yaml", ".json":
		err = yaml.Unmarshal(text, &top)
	default:
		err = fmt.Errorf("its name must end in .yaml, .yml, .json or .toml, not %q", extension)
	}
	if err != nil {
		return fmt.Errorf("config file %s: %w", path, err)
	}
	if unknown := unknownSettings(top); len(unknown) > 0 {
		return fmt.Errorf("config file %s: there is no setting %s; see 'nullops settings'",
			path, strings.Join(unknown, ", "))
	}
	if err := fillSettings(top, s); err != nil {
		return fmt.Errorf("config file %s: %w; see 'nullops settings'", path, err)
	}
	return nil
}

func fillSettings(top map[string]any, s *Settings) error {
	root, err := nodeOf(parser.DefaultRootName, top)
	if err != nil || len(root.Children) == 0 {
		return err
	}
	if err := parser.AddMetadata(s, root, parser.MetadataOpts{TagName: parser.TagFile}); err != nil {
		return err
	}
	if err := checkLists(root); err != nil {
		return err
	}
	return parser.Fill(s, root, parser.FillerOpts{RawSliceSeparator: listSeparator})
}

// listSeparator separates the items of a list for paerser, which wants the kind of the items,
// too, but does not look at it.
const listSeparator = "║"

// nodeOf is a value of the file as paerser's tree has it. Settings are words, numbers, true or
// false, and lists of words, in sections.
func nodeOf(name string, value any) (*parser.Node, error) {
	node := &parser.Node{Name: name}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if value[key] == nil {
				continue
			}
			child, err := nodeOf(key, value[key])
			if err != nil {
				return nil, err
			}
			node.Children = append(node.Children, child)
		}
	case []any:
		node.Value = listSeparator + reflect.String.String()
		for _, item := range value {
			word, ok := item.(string)
			if !ok || word == "" || strings.Contains(word, listSeparator) {
				return nil, fmt.Errorf("%s: each item of a list is a word", name)
			}
			node.Value += listSeparator + word
		}
	case string:
		node.Value = value
	case bool, int, int64, uint64:
		node.Value = fmt.Sprint(value)
	case float64:
		node.Value = strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return nil, fmt.Errorf("%s is neither a word, a number, true, false nor a section", name)
	}
	return node, nil
}

// checkLists refuses lists for settings that are none.
func checkLists(node *parser.Node) error {
	if strings.HasPrefix(node.Value, listSeparator) && node.Kind != reflect.Slice {
		return fmt.Errorf("%s is neither a word, a number, true, false nor a section", node.Name)
	}
	for _, child := range node.Children {
		if err := checkLists(child); err != nil {
			return err
		}
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

// Package starter holds the starter catalogue: documents, in the form that apply reads, that a new
// installation offers. Nothing of it is there until an admin adds an entry.
package starter

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed services/*.yaml models/*.yaml
var files embed.FS

// The kinds of documents that an entry may have.
const (
	KindService = "service"
	KindPlugin  = "plugin"
)

// PluginRegistry is the name that stands in the documents for the registry with the plugins'
// images. They are published nowhere, so each installation has its own.
const PluginRegistry = "plugins"

// Entry is one file of the catalogue. Its first document is the service that it is about.
type Entry struct {
	Name string
	// Group is its folder: services or models.
	Group       string
	Description string
	// Text is the file.
	Text      string
	Documents []Document
}

// Document is one definition of an entry.
type Document struct {
	Kind       string
	Name       string
	Definition map[string]any
}

// List returns all entries, services before models, each by name.
func List() ([]Entry, error) { return loadOnce() }

// Find returns one entry; false if there is none of that name.
func Find(name string) (Entry, bool, error) {
	all, err := List()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if err != nil || i < 0 {
		return Entry{}, false, err
	}
	return all[i], true, nil
}

var loadOnce = sync.OnceValues(func() ([]Entry, error) {
	var all []Entry
	for _, group := range []string{"services", "models"} {
		found, err := fs.Glob(files, group+"/*.yaml")
		if err != nil {
			return nil, fmt.Errorf("list the starter catalogue: %w", err)
		}
		for _, file := range found {
			e, err := readEntry(file)
			if err != nil {
				return nil, fmt.Errorf("read %s of the starter catalogue: %w", file, err)
			}
			e.Group = group
			all = append(all, e)
		}
	}
	return all, nil
})

func readEntry(file string) (Entry, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Text: string(text)}
	for reader := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var body map[string]any
		if err := reader.Decode(&body); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return e, err
		}
		d := Document{Definition: body}
		d.Kind, _ = body["kind"].(string)
		d.Name, _ = body["name"].(string)
		delete(body, "kind")
		delete(body, "name")
		e.Documents = append(e.Documents, d)
	}
	if len(e.Documents) == 0 || e.Documents[0].Kind != KindService {
		return e, errors.New("the first document is not a service")
	}
	e.Description, _ = e.Documents[0].Definition["description"].(string)
	return e, nil
}

// Encode returns the definition as the API takes it.
func (d Document) Encode() (json.RawMessage, error) { return json.Marshal(d.Definition) }

// Registry is the name of the registry that the definition's image is in.
func (d Document) Registry() string {
	name, _ := d.Definition["registry"].(string)
	return name
}

// Image is the repository and the tag that is proposed.
func (d Document) Image() string {
	return fmt.Sprintf("%v:%v", d.Definition["image"], d.Definition["tag"])
}

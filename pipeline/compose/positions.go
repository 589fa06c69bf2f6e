package compose

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// positions says on which line of a document what is. A file has several documents where
// "---" separates them; Compose merges later ones over earlier ones.
type positions struct {
	file     string
	top      map[string]int
	services map[string]map[string]int
	// used are the variables of the whole file; the first document has them.
	used []usedVariable
	// root is the document without aliases and merge keys.
	root *yaml.Node
}

// usedVariable is a variable that a line names.
type usedVariable struct {
	name string
	line int
}

var variable = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

func findPositions(file File) ([]positions, error) {
	var all []positions
	decoder := yaml.NewDecoder(bytes.NewReader(file.Text))
	for size := 0; ; {
		var root yaml.Node
		err := decoder.Decode(&root)
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, &Refusal{File: file.Name, Message: "this is no compose file: it is empty"}
		case errors.Is(err, io.EOF):
			all[0].findVariables(string(file.Text))
			return all, nil
		case err != nil:
			return nil, refuseSyntax(file.Name, err)
		}
		resolved, err := resolveNode(root.Content[0], 0, &size)
		if err != nil {
			return nil, &Refusal{File: file.Name, Message: err.Error()}
		}
		all = append(all, newPositions(file.Name, resolved))
	}
}

func newPositions(file string, root *yaml.Node) positions {
	p := positions{file: file, top: map[string]int{}, services: map[string]map[string]int{},
		root: root}
	eachField(root, func(key, value *yaml.Node) {
		p.top[key.Value] = key.Line
		if key.Value != "services" {
			return
		}
		eachField(value, func(name, service *yaml.Node) {
			fields := map[string]int{"": name.Line}
			eachField(service, func(field, _ *yaml.Node) { fields[field.Value] = field.Line })
			p.services[name.Value] = fields
		})
	})
	return p
}

func (p *positions) findVariables(text string) {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, found := range variable.FindAllStringSubmatch(strings.ReplaceAll(line, "$$", ""), -1) {
			p.used = append(p.used, usedVariable{found[1], i + 1})
		}
	}
}

func eachField(n *yaml.Node, fn func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		fn(n.Content[i], n.Content[i+1])
	}
}

// serviceAt is the service that a line of a file belongs to, or "".
func (r *composeReader) serviceAt(file string, line int) string {
	for _, p := range slices.Backward(r.files) {
		if service := p.serviceAt(line); p.file == file && service != "" {
			return service
		}
	}
	return ""
}

// serviceAt is the service that a line belongs to if it is in this document.
func (p positions) serviceAt(line int) string {
	service, begin := "", 0
	for _, at := range p.top {
		if at <= line && at > begin {
			begin = at
		}
	}
	for name, fields := range p.services {
		if at := fields[""]; at <= line && at >= begin {
			service, begin = name, at
		}
	}
	return service
}

// positionOf is where a field is written last, since that is what counts, or where
// the service is.
func (r *composeReader) positionOf(service, field string) (file string, line int) {
	for _, p := range slices.Backward(r.files) {
		if line := p.services[service][field]; line > 0 {
			return p.file, line
		}
	}
	for _, p := range r.files {
		if line := p.services[service][""]; line > 0 {
			return p.file, line
		}
	}
	return "", 0
}

// noteVariables lists those without a value, once for each line.
func (r *composeReader) noteVariables() {
	for _, p := range r.files {
		noted := map[usedVariable]bool{}
		for _, u := range p.used {
			if _, given := r.variables[u.name]; given || noted[u] {
				continue
			}
			noted[u] = true
			r.out.Notes = append(r.out.Notes, Note{File: p.file, Line: u.line,
				Service: r.serviceAt(p.file, u.line),
				Message: fmt.Sprintf("the variable %s has no value here: "+
					"its default is taken, or nothing", u.name)})
		}
	}
}

package compose

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Refusal is why files are not read, with the place as far as it is known.
type Refusal struct {
	File    string
	Line    int
	Service string
	Message string
}

// Error implements error.
func (e *Refusal) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:", e.Line)
	}
	if b.Len() > 0 {
		b.WriteString(" ")
	}
	if e.Service != "" {
		b.WriteString("service " + e.Service + ": ")
	}
	return b.String() + e.Message
}

var (
	yamlLine     = regexp.MustCompile(`line (\d+): `)
	servicePath  = regexp.MustCompile(`services\.(\S+)`)
	decodedPath  = regexp.MustCompile(`'services\[([^\]]+)\]\.?([A-Za-z_]*)`)
	namedService = regexp.MustCompile(`service "([^"]+)" (depends on|refers to undefined (\w+))`)
	noImage      = regexp.MustCompile(`service "([^"]+)" has neither an image nor a build context`)
	topPath      = regexp.MustCompile(` (configs|secrets|volumes|networks)\.(\S+)`)
	cycleStart   = regexp.MustCompile(`cycle detected: (\S+)`)
	libraryWords = regexp.MustCompile(`^(validating|failed to parse) .+?: |: invalid compose project$`)
)

// refuseSyntax takes the line out of a YAML error.
func refuseSyntax(file string, err error) *Refusal {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if all := yamlLine.FindAllStringSubmatch(message, -1); len(all) > 0 {
		line, _ = strconv.Atoi(all[len(all)-1][1])
		message = yamlLine.ReplaceAllString(message, "")
	}
	return &Refusal{File: file, Line: line, Message: "this is no YAML: " + oneLine(message)}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// explainError says where the cause of the library's error is. It names a path, a
// service, or neither; then the cause is found by reading the parts alone.
func (r *composeReader) explainError(ctx context.Context, err error) *Refusal {
	text := err.Error()
	out := &Refusal{Message: oneLine(libraryWords.ReplaceAllString(strings.TrimPrefix(
		oneLine(text), "decoding failed due to the following error(s): "), ""))}
	out.Message = strings.ReplaceAll(out.Message, " false schema", " is no field of Compose")
	field := ""
	switch {
	case strings.Contains(text, "construct errors"):
		return r.refuseNode(err)
	case decodedPath.MatchString(text):
		found := decodedPath.FindStringSubmatch(text)
		out.Service, field = found[1], found[2]
	case namedService.MatchString(text):
		found := namedService.FindStringSubmatch(text)
		out.Service, field = found[1], "depends_on"
		if found[3] != "" {
			field = found[3] + "s"
		}
	case noImage.MatchString(text):
		out.Service, field = noImage.FindStringSubmatch(text)[1], "extends"
		out.Message = "it has no image; name one with image (what extends would add is not read)"
	case cycleStart.MatchString(text):
		out.Service, field = cycleStart.FindStringSubmatch(text)[1], "depends_on"
	case servicePath.MatchString(text):
		out.Service, field = r.splitPath(servicePath.FindStringSubmatch(text)[1])
	default:
		out.Service, field = r.findByTrial(ctx, text)
	}
	out.File, out.Line = r.positionOf(out.Service, field)
	if found := topPath.FindStringSubmatch(text); out.Service == "" && found != nil {
		out.File, out.Line = r.findTopName(found[1], found[2])
	}
	if out.Line == 0 {
		// What is not in a service is most often in the last file.
		out.File = r.files[len(r.files)-1].file
		out.Line = r.files[len(r.files)-1].top["services"]
	}
	return out
}

// refuseNode is for what YAML allows and the library does not, such as a key that
// is there twice.
func (r *composeReader) refuseNode(err error) *Refusal {
	only := r.files[0].file == r.files[len(r.files)-1].file
	for _, p := range r.files {
		if only || strings.Contains(err.Error(), " "+p.file+": ") {
			out := refuseSyntax(p.file, errors.New(oneLine(err.Error())))
			out.Service = r.serviceAt(p.file, out.Line)
			_, message, _ := strings.Cut(out.Message, "construct errors: ")
			out.Message = message
			return out
		}
	}
	return refuseSyntax("", err)
}

// splitPath knows that a service's name may hold dots.
func (r *composeReader) splitPath(path string) (service, field string) {
	path = strings.TrimRight(path, ".:,")
	for _, p := range r.files {
		for name := range p.services {
			rest, ok := strings.CutPrefix(path, name)
			if !ok || len(name) < len(service) || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			service = name
			field, _, _ = strings.Cut(strings.TrimPrefix(rest, "."), ".")
		}
	}
	field, _, _ = strings.Cut(field, "[")
	return service, field
}

// findTopName finds a volume, network, secret or config by the beginning of a path, since names may
// hold dots.
func (r *composeReader) findTopName(kind, path string) (file string, line int) {
	longest := ""
	for _, p := range r.files {
		section := childOf(p.root, kind)
		if section == nil {
			continue
		}
		eachField(section, func(key, _ *yaml.Node) {
			rest, ok := strings.CutPrefix(path, key.Value)
			whole := rest == "" || strings.ContainsRune(".:[", rune(rest[0]))
			if ok && whole && len(key.Value) >= len(longest) {
				longest, file, line = key.Value, p.file, key.Line
			}
		})
	}
	return file, line
}

// maxTrials bounds findByTrial for files of any size.
const maxTrials = 1000

// findByTrial reads each field of each service alone until one fails in the same
// way.
func (r *composeReader) findByTrial(ctx context.Context, want string) (service, field string) {
	trials := 0
	for _, p := range slices.Backward(r.files) {
		services := childOf(p.root, "services")
		if services == nil {
			continue
		}
		eachField(services, func(name, body *yaml.Node) {
			eachField(body, func(key, value *yaml.Node) {
				if trials++; field != "" || trials > maxTrials {
					return
				}
				alone, err := yaml.Marshal(map[string]any{"services": map[string]any{
					name.Value: map[string]any{"image": "x", key.Value: value}}})
				if err != nil {
					return
				}
				_, err = loadProject(ctx, []File{{Name: p.file, Text: alone}}, r.variables)
				if err != nil && err.Error() == want {
					service, field = name.Value, key.Value
				}
			})
		})
	}
	return service, field
}

// refuseEmpty is for files none of whose services can be started.
func (r *composeReader) refuseEmpty() error {
	for _, p := range r.files {
		for name, fields := range p.services {
			return &Refusal{File: p.file, Line: fields[""], Service: name,
				Message: "neither it nor another service has an image that can be started"}
		}
	}
	return errors.New("the file has no service with an image")
}

// Package compose reads a Docker Compose file as services and a pipeline, and
// writes a pipeline as one.
//
// A compose file may come from anybody. It is read as text alone: nothing it
// names is opened (include, extends, env_file, files of configs and secrets),
// and no variable of this machine is filled in. What cannot be carried over is
// listed with its line; nothing is dropped silently.
package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/nullops/nullops/pipeline"
)

// MaxBytes is the most that a compose file may have.
const MaxBytes = 1 << 20

// What a service without limits gets, since every service of ours has some.
const (
	usualCPU    = 0.5
	usualMemory = 256
)

// Note is something that was not carried over, or otherwise than written.
type Note struct {
	Line    int
	Service string
	Message string
}

// Service is an image that a step runs.
type Service struct {
	Name, Registry, Repository, Tag string
}

// Result is what a compose file becomes.
type Result struct {
	Services []Service
	Pipeline pipeline.Pipeline
	// Secrets are the project secrets that the pipeline reads.
	Secrets []string
	Notes   []Note
}

// reader collects what is found.
type reader struct {
	project *types.Project
	places  places
	out     Result
}

// Read understands a compose file.
func Read(ctx context.Context, text []byte) (Result, error) {
	if len(text) > MaxBytes {
		return Result{}, fmt.Errorf("the file is larger than %d bytes", MaxBytes)
	}
	found, err := find(text)
	if err != nil {
		return Result{}, err
	}
	r := &reader{places: found}
	r.closed()
	r.listUnsupported("")
	project, err := load(ctx, text)
	if err != nil {
		return Result{}, err
	}
	r.project = project
	if len(project.DisabledServices) > 0 {
		for _, name := range slices.Sorted(maps.Keys(project.DisabledServices)) {
			r.note(name, "profiles", "it is not started without its profile, and left out")
		}
	}
	for _, name := range project.ServiceNames() {
		r.service(project.Services[name])
	}
	r.out.Pipeline.Format = 1
	if len(r.out.Pipeline.Steps) == 0 {
		return r.out, errors.New("the file has no service with an image")
	}
	r.connect()
	slices.SortStableFunc(r.out.Notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return r.out, nil
}

// load has the library read the text, with everything off that opens a file or
// looks around on this machine.
func load(ctx context.Context, text []byte) (*types.Project, error) {
	project, err := loader.LoadWithContext(ctx, types.ConfigDetails{
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: text}},
		Environment: types.Mapping{}, WorkingDir: "/nowhere",
	}, func(o *loader.Options) {
		o.SkipInclude, o.SkipExtends, o.SkipResolveEnvironment = true, true, true
		o.SkipResolveLabels, o.ResolvePaths, o.ResourceLoaders = true, false, nil
		o.SetProjectName("import", true)
	})
	if err != nil {
		return nil, fmt.Errorf("this is no compose file: %w", err)
	}
	return project, nil
}

// closed lists what would have read other files.
func (r *reader) closed() {
	if line := r.places.top["include"]; line > 0 {
		r.out.Notes = append(r.out.Notes, Note{Line: line,
			Message: "include reads other files, and is left out"})
	}
	for _, line := range r.places.variables {
		r.out.Notes = append(r.out.Notes, Note{Line: line,
			Message: "a variable has no value here: its default is taken, or nothing"})
	}
}

func (r *reader) note(service, field, format string, args ...any) {
	r.out.Notes = append(r.out.Notes, Note{Line: r.places.line(service, field), Service: service,
		Message: field + ": " + fmt.Sprintf(format, args...)})
}

func (r *reader) service(s types.ServiceConfig) {
	r.listUnsupported(s.Name)
	if s.Image == "" {
		r.note(s.Name, "build", "it has no image; build and push one, and name it with image")
		return
	}
	image, err := parseImage(s.Image)
	if err != nil {
		r.note(s.Name, "image", "%v", err)
		return
	}
	if s.Deploy != nil && s.Deploy.Replicas != nil && *s.Deploy.Replicas == 0 {
		r.note(s.Name, "deploy", "replicas is 0, so that it is not started, and left out")
		return
	}
	if s.Build != nil {
		r.note(s.Name, "build", "images are not built here; %s is pulled", s.Image)
	}
	image.Name = label(s.Name)
	r.out.Services = append(r.out.Services, image)
	ports := r.ports(s)
	step := &pipeline.ServiceStep{Name: image.Name, Command: escapeAll(s.Command), Env: r.env(s),
		Ports: ports, Resources: r.limits(s), Ready: r.ready(s, ports)}
	step.Volumes, step.Files = r.volumes(s), r.files(s)
	step.Restart = r.restart(s)
	r.readProcess(s, step)
	r.noteRenamedHosts(s)
	r.out.Pipeline.Steps = append(r.out.Pipeline.Steps, pipeline.Step{
		Key: pipeline.StepKey(image.Name), Service: step})
}

// connect draws depends_on as arrows, between the steps that are there.
func (r *reader) connect() {
	for i := range r.out.Pipeline.Steps {
		step := &r.out.Pipeline.Steps[i]
		for _, s := range r.project.Services {
			if label(s.Name) != string(step.Key) {
				continue
			}
			for _, on := range slices.Sorted(maps.Keys(s.DependsOn)) {
				if r.has(label(on)) {
					step.Needs = append(step.Needs, pipeline.StepKey(label(on)))
					r.noteCondition(s, on)
					continue
				}
				r.note(s.Name, "depends_on", "%s was left out", on)
			}
		}
	}
}

func (r *reader) has(key string) bool {
	return slices.ContainsFunc(r.out.Pipeline.Steps, func(s pipeline.Step) bool {
		return string(s.Key) == key
	})
}

// parseImage takes a reference apart as Docker does: a first part without a dot
// or a colon is no registry.
func parseImage(image string) (Service, error) {
	if strings.Contains(image, "@") {
		return Service{}, errors.New("images by digest are not carried over; name a tag")
	}
	host, rest, slashed := strings.Cut(image, "/")
	if !slashed || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, rest = "docker.io", image
	}
	repository, tag := rest, "latest"
	if i := strings.LastIndex(rest, ":"); i >= 0 {
		repository, tag = rest[:i], rest[i+1:]
	}
	if host == "docker.io" && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	if repository == "" || tag == "" {
		return Service{}, fmt.Errorf("%q is not an image", image)
	}
	return Service{Registry: host, Repository: repository, Tag: tag}, nil
}

// label spells a service's name as a DNS label.
func label(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	if len(name) > 40 {
		name = name[:40]
	}
	return strings.Trim(name, "-")
}

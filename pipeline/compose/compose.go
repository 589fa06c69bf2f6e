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

// Defaults for a service without limits, since every service must have some.
const (
	defaultCPU    = 0.5
	defaultMemory = 256
)

// File is a compose file, or a file of variables, with the name that people know
// it by.
type File struct {
	Name string
	Text []byte
}

// Note is something that was not carried over, or otherwise than written.
type Note struct {
	// File is the name of the file that the line is in.
	File    string
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

// composeReader collects what is found.
type composeReader struct {
	project *types.Project
	// files are the documents of all files, in the order in which Compose merges them.
	files     []positions
	variables map[string]string
	// keys are the steps' keys by the services' names.
	keys map[string]string
	// secretNames are the names of the project's secrets by those of the file.
	secretNames map[string]string
	// jobs are the services that become job steps.
	jobs map[string]jobReason
	// mounted are the mounts of each named volume.
	mounted map[string][]mountedVolume
	out     Result
}

// Read understands a compose file without variables.
func Read(ctx context.Context, text []byte) (Result, error) {
	return ReadFiles(ctx, []File{{Text: text}}, nil)
}

// ReadFiles understands compose files, of which later ones are merged over
// earlier ones as Compose does. Variables have these values and no others. The
// notes hold with an error too.
func ReadFiles(ctx context.Context, files []File, variables map[string]string) (Result, error) {
	r := &composeReader{variables: variables, mounted: map[string][]mountedVolume{}}
	size := 0
	for _, f := range files {
		if size += len(f.Text); size > MaxBytes {
			return Result{}, fmt.Errorf("the files are larger than %d bytes", MaxBytes)
		}
		found, err := findPositions(f)
		if err != nil {
			return Result{}, err
		}
		r.files = append(r.files, found...)
	}
	r.noteIncludes()
	r.noteVariables()
	r.listUnsupported("")
	project, err := loadProject(ctx, files, variables)
	if err != nil {
		r.sortNotes()
		return r.out, r.explainError(ctx, err)
	}
	r.project = project
	r.readServices()
	r.sortNotes()
	if len(r.out.Pipeline.Steps) == 0 {
		return r.out, r.refuseEmpty()
	}
	return r.out, nil
}

func (r *composeReader) readServices() {
	for _, name := range slices.Sorted(maps.Keys(r.project.DisabledServices)) {
		r.addNote(name, "profiles", "it is not started without its profile, and left out")
	}
	r.nameSteps()
	r.nameSecrets()
	r.findJobs()
	for _, name := range r.project.ServiceNames() {
		r.readService(r.project.Services[name])
	}
	r.out.Pipeline.Format = pipeline.FormatOf(r.out.Pipeline)
	r.shareVolumes()
	r.connectDependencies()
}

// sortNotes puts them in the order in which people read the files.
func (r *composeReader) sortNotes() {
	place := map[string]int{}
	for i, p := range r.files {
		place[p.file] = i
	}
	slices.SortStableFunc(r.out.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(place[a.File], place[b.File]), cmp.Compare(a.Line, b.Line))
	})
}

// loadProject has the library read the files, with everything off that opens a file or
// looks around on this machine.
func loadProject(
	ctx context.Context,
	files []File,
	variables map[string]string,
) (*types.Project, error) {
	details := types.ConfigDetails{Environment: maps.Clone(variables), WorkingDir: "/nowhere"}
	if details.Environment == nil {
		details.Environment = types.Mapping{}
	}
	for _, f := range files {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{
			Filename: cmp.Or(f.Name, "compose.yaml"), Content: f.Text})
	}
	return loader.LoadWithContext(ctx, details, func(o *loader.Options) {
		o.SkipInclude, o.SkipExtends, o.SkipResolveEnvironment = true, true, true
		o.SkipResolveLabels, o.ResolvePaths, o.ResourceLoaders = true, false, nil
		o.SetProjectName("import", true)
	})
}

// noteIncludes lists what would have read other files.
func (r *composeReader) noteIncludes() {
	for _, p := range r.files {
		if line := p.top["include"]; line > 0 {
			r.out.Notes = append(r.out.Notes, Note{File: p.file, Line: line,
				Message: "include reads other files, and is left out"})
		}
	}
}

// addNote lists something about a field, or about the whole service if the field is empty.
func (r *composeReader) addNote(service, field, format string, args ...any) {
	file, line := r.positionOf(service, field)
	message := fmt.Sprintf(format, args...)
	if field != "" {
		message = field + ": " + message
	}
	r.out.Notes = append(r.out.Notes, Note{File: file, Line: line, Service: service,
		Message: message})
}

func (r *composeReader) readService(s types.ServiceConfig) {
	r.listUnsupported(s.Name)
	if s.Image == "" {
		r.addNote(s.Name, "build", "it has no image; build and push one, and name it with image")
		return
	}
	image, err := parseImage(s.Image)
	if err != nil {
		r.addNote(s.Name, "image", "%v", err)
		return
	}
	if field := replicasField(s); s.GetScale() == 0 {
		r.addNote(s.Name, field, "replicas is 0, so that it is not started, and left out")
		return
	}
	if s.Build != nil {
		r.addNote(s.Name, "build", "images are not built here; %s is pulled", s.Image)
	}
	image.Name = r.keys[s.Name]
	r.out.Services = append(r.out.Services, image)
	container := pipeline.ServiceStep{Name: image.Name, Command: escapeAll(s.Command),
		Env: r.readEnv(s), Resources: r.readLimits(s)}
	container.Volumes, container.Files = r.readVolumes(s), r.readMountedFiles(s)
	r.readProcess(s, &container)
	r.noteRenamedHosts(s, container.Env)
	r.noteMode(s)
	step := pipeline.Step{Key: pipeline.StepKey(image.Name)}
	if r.isJob(s.Name) {
		step.Job = r.readJob(s, container)
	} else {
		container.Ports = r.readPorts(s)
		container.Ready = r.readReadiness(s, container.Ports)
		container.Restart = r.readRestart(s)
		step.Service = &container
	}
	r.out.Pipeline.Steps = append(r.out.Pipeline.Steps, step)
}

// connectDependencies draws depends_on as arrows, between the steps that are there.
func (r *composeReader) connectDependencies() {
	for i := range r.out.Pipeline.Steps {
		step := &r.out.Pipeline.Steps[i]
		for _, s := range r.project.Services {
			if r.keys[s.Name] != string(step.Key) {
				continue
			}
			for _, on := range slices.Sorted(maps.Keys(s.DependsOn)) {
				if r.hasStep(r.keys[on]) {
					step.Needs = append(step.Needs, pipeline.StepKey(r.keys[on]))
					r.noteCondition(s, on)
					continue
				}
				r.addNote(s.Name, "depends_on", "%s was left out", on)
			}
		}
	}
}

func (r *composeReader) hasStep(key string) bool {
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

package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// PipelineSaved says what saving did.
type PipelineSaved struct {
	// Changed is false when the current version is the same.
	Changed bool
	Version int
	Digest  string
}

// ValidatePipeline returns all problems of a pipeline, and whether saving it would
// create a new version. It saves nothing.
func (c *Catalog) ValidatePipeline(
	ctx context.Context, actor access.Actor, project string, p pipeline.Pipeline,
) (problems []controlplane.Problem, changes bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, false, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		x, err := tx.Projects().ByName(ctx, project)
		if err != nil {
			return err
		}
		filled, found, err := c.preparePipeline(ctx, tx, x, p)
		if problems = found; err != nil || len(found) > 0 {
			return err
		}
		v, err := nextVersion(ctx, tx, x, filled)
		changes = v.changed
		return err
	})
	return problems, changes, err
}

// FillPipeline returns a pipeline as saving would store it, with its order, and all
// its problems. With problems there may be no order. It saves nothing.
func (c *Catalog) FillPipeline(
	ctx context.Context, actor access.Actor, project string, p pipeline.Pipeline,
) (filled pipeline.Pipeline, problems []controlplane.Problem, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return p, nil, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		x, err := tx.Projects().ByName(ctx, project)
		if err != nil {
			return err
		}
		filled, problems, err = c.preparePipeline(ctx, tx, x, p)
		if err != nil || len(problems) > 0 {
			return err
		}
		filled.Order, err = pipeline.Order(filled)
		return err
	})
	return filled, problems, err
}

// SavePipeline validates a pipeline as a whole and saves it as the project's
// next version, with copies of everything it uses: later changes of the
// catalogue do not alter it. An unchanged pipeline makes no version.
func (c *Catalog) SavePipeline(
	ctx context.Context, actor access.Actor, project string, p pipeline.Pipeline, note string,
) (out PipelineSaved, err error) {
	return c.SavePipelineOn(ctx, actor, project, p, note, nil)
}

// SavePipelineOn is SavePipeline for a pipeline that was drawn on the version
// base: when another is current by now, nothing is overwritten.
func (c *Catalog) SavePipelineOn(
	ctx context.Context, actor access.Actor, project string, p pipeline.Pipeline, note string,
	base *int,
) (out PipelineSaved, err error) {
	object := "pipeline of " + project
	err = c.changeAsAdmin(ctx, actor, "save pipeline", object, func(tx *postgres.Tx) error {
		if len(note) > 500 {
			return controlplane.NewInvalidError(
				"note", "too_long", "a note has at most 500 bytes", "Shorten it.")
		}
		x, err := tx.Projects().Lock(ctx, project)
		if err != nil {
			return err
		}
		if err := drawnOn(ctx, tx, x, base); err != nil {
			return err
		}
		filled, problems, err := c.preparePipeline(ctx, tx, x, p)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return refusedPipeline(problems)
		}
		out, err = saveVersion(ctx, tx, actor, x, filled, note)
		return err
	})
	return out, err
}

// drawnOn fails if the draft is based on a version that is not the latest.
func drawnOn(ctx context.Context, tx *postgres.Tx, x controlplane.Project, base *int) error {
	if base == nil {
		return nil
	}
	latest, _, err := tx.Pipelines().GetLatest(ctx, x.ID)
	if err != nil || latest.Version == *base {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "outdated", Field: "base",
		Message: fmt.Sprintf("%s published version %d meanwhile; this was drawn on version %d",
			latest.CreatedBy, latest.Version, *base),
		Remedy: "Merge what they changed with what you changed, and publish that."}
}

func refusedPipeline(problems []controlplane.Problem) error {
	count := "one problem"
	if len(problems) > 1 {
		count = strconv.Itoa(len(problems)) + " problems"
	}
	return &controlplane.Error{
		Kind: controlplane.Invalid, Code: "pipeline_invalid", Field: "pipeline",
		Message: "the pipeline has " + count, Remedy: "Change what is listed and save again.",
		Problems: problems,
	}
}

// pipelineCandidate is a pipeline on its way to being a version.
type pipelineCandidate struct {
	pipeline pipeline.Pipeline
	digest   string
	// number is the current version's if nothing changed, else the next one.
	number  int
	changed bool
}

func nextVersion(
	ctx context.Context, tx *postgres.Tx, x controlplane.Project, p pipeline.Pipeline,
) (v pipelineCandidate, err error) {
	if p.Order, err = pipeline.Order(p); err != nil {
		return v, fmt.Errorf("order pipeline: %w", err)
	}
	v.pipeline = p
	if v.digest, err = pipeline.Digest(p); err != nil {
		return v, err
	}
	latest, ok, err := tx.Pipelines().GetLatest(ctx, x.ID)
	if err != nil {
		return v, err
	}
	v.number, v.changed = latest.Version, !ok || latest.Digest != v.digest
	if v.changed {
		v.number++
	}
	return v, nil
}

func saveVersion(
	ctx context.Context, tx *postgres.Tx, actor access.Actor, x controlplane.Project,
	p pipeline.Pipeline, note string,
) (PipelineSaved, error) {
	v, err := nextVersion(ctx, tx, x, p)
	out := PipelineSaved{Changed: v.changed, Version: v.number, Digest: v.digest}
	if err != nil || !v.changed {
		return out, err
	}
	err = tx.Pipelines().InsertVersion(ctx, controlplane.PipelineVersion{
		Project: x.ID, Version: v.number, Pipeline: v.pipeline, Digest: v.digest, Note: note,
		CreatedBy: actor.Name(),
	})
	if err != nil {
		return out, err
	}
	services, plugins := usedComponents(v.pipeline)
	tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return out, tx.Projects().SetUses(ctx, x.ID, services, plugins)
}

func usedComponents(p pipeline.Pipeline) (services, plugins []string) {
	services, plugins = []string{}, []string{}
	for _, s := range p.Steps {
		switch {
		case s.Container() != nil:
			services = append(services, s.Container().Name)
		case s.Plugin != nil:
			plugins = append(plugins, s.Plugin.Name)
		}
	}
	return services, plugins
}

// preparePipeline copies what the pipeline uses into it and finds all its problems.
// Whatever the caller sent in those places is overwritten.
func (c *Catalog) preparePipeline(
	ctx context.Context, tx *postgres.Tx, x controlplane.Project, p pipeline.Pipeline,
) (pipeline.Pipeline, []controlplane.Problem, error) {
	p.Format, p.Order = pipeline.FormatOf(p), nil
	filled, problems, err := c.fillSteps(ctx, tx, p)
	if err != nil {
		return p, nil, err
	}
	settings, err := settingsOf(ctx, tx, x)
	if err != nil {
		return p, nil, err
	}
	for _, found := range pipeline.Validate(filled, settings) {
		// Reported already, with a better message: it is not in the catalogue.
		if found.Code == "missing_image" || found.Code == "missing_component" {
			continue
		}
		problems = append(problems, controlplane.Problem{
			Step: string(found.Step), Field: found.Field, Code: found.Code, Message: found.Message,
		})
	}
	for _, s := range filled.Steps {
		if s.Script != nil {
			problems = append(problems, checkOutputSchema(s)...)
		}
		if s.Plugin == nil {
			continue
		}
		more, err := checkParameters(s)
		if err != nil {
			return p, nil, err
		}
		problems = append(problems, more...)
	}
	return filled, problems, nil
}

func (c *Catalog) fillSteps(
	ctx context.Context, tx *postgres.Tx, p pipeline.Pipeline,
) (pipeline.Pipeline, []controlplane.Problem, error) {
	var problems []controlplane.Problem
	scripts := 0
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		problem, err := fillStep(ctx, tx, &p.Steps[i])
		if err == nil && p.Steps[i].Script != nil && scripts < pipeline.MaxScripts {
			scripts++
			problem, err = c.scripts.fillScript(ctx, &p.Steps[i])
		}
		if err != nil {
			return p, nil, err
		}
		if problem != nil {
			problems = append(problems, *problem)
		}
	}
	return p, problems, nil
}

func fillStep(
	ctx context.Context, tx *postgres.Tx, s *pipeline.Step,
) (*controlplane.Problem, error) {
	if c := s.Container(); c != nil {
		known, err := tx.Services().ByName(ctx, c.Name)
		exists, err := controlplane.IsFound(err)
		if err != nil {
			return nil, err
		}
		field := "service.name"
		if s.Job != nil {
			field = "job.name"
		}
		var image *pipeline.Image
		if exists {
			image = known.Reference()
		}
		*s = s.WithContainer(func(c *pipeline.ServiceStep) { c.Image = image })
		if !exists {
			return unknownProblem(s.Key, field, "service", c.Name), nil
		}
	}
	if s.Plugin != nil {
		step := *s.Plugin
		known, err := tx.Plugins().ByName(ctx, step.Name)
		exists, err := controlplane.IsFound(err)
		if err != nil {
			return nil, err
		}
		step.Image, step.Component = nil, nil
		s.Plugin = &step
		if !exists {
			return unknownProblem(s.Key, "plugin.name", "plugin", step.Name), nil
		}
		step.Image, step.Component = known.Reference(), &known.Component
	}
	return nil, nil
}

func unknownProblem(step pipeline.StepKey, field, what, name string) *controlplane.Problem {
	if name == "" {
		// pipeline.Validate asks for the name.
		return nil
	}
	return &controlplane.Problem{
		Step: string(step), Field: field, Code: "unknown_" + what,
		Message: "there is no " + what + " " + name + " in the catalogue",
	}
}

// CurrentPipeline loads the version that new deployments use.
func (c *Catalog) CurrentPipeline(
	ctx context.Context, actor access.Actor, project string,
) (v controlplane.PipelineVersion, err error) {
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := readProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		var ok bool
		if v, ok, err = tx.Pipelines().GetLatest(ctx, p.ID); err == nil && !ok {
			err = controlplane.NewNotFoundError("pipeline of", project)
		}
		return err
	})
	return v, err
}

// PipelineVersion loads one version, as it was saved.
func (c *Catalog) PipelineVersion(
	ctx context.Context, actor access.Actor, project string, number int,
) (v controlplane.PipelineVersion, err error) {
	if number < 1 || number > math.MaxInt32 {
		return v, controlplane.NewNotFoundError("pipeline version", strconv.Itoa(number))
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := readProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		v, err = tx.Pipelines().GetVersion(ctx, p.ID, number)
		return err
	})
	return v, err
}

// ListPipelineVersions returns one page of versions, newest first, and the next page's cursor.
func (c *Catalog) ListPipelineVersions(
	ctx context.Context, actor access.Actor, project string, p controlplane.Page,
) (all []controlplane.PipelineVersion, next string, err error) {
	before := math.MaxInt32
	if p.After != "" {
		if before, err = parseOffset(p.After); err != nil {
			return nil, "", err
		}
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		x, err := readProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		all, err = tx.Pipelines().ListVersions(ctx, x.ID, min(before, math.MaxInt32),
			p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(v controlplane.PipelineVersion) string {
		return strconv.Itoa(v.Version)
	})
	return all, next, err
}

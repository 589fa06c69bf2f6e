package lifecycle

import (
	"context"
	"maps"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// PreviewPipeline is an unpublished pipeline and the part of it to run: these steps and what
// they need, or all of it.
type PreviewPipeline struct {
	Pipeline pipeline.Pipeline
	Steps    []pipeline.StepKey
	// Pinned are outputs, by step and name. Those steps do not run.
	Pinned map[pipeline.StepKey]map[string]any
}

// PreflightDraft is Preflight for a drawing.
func (l *Lifecycle) PreflightDraft(
	ctx context.Context, actor access.Actor, r Request, drawn PreviewPipeline,
) (Preflight, error) {
	r, problems, err := l.preparePreview(ctx, actor, r, drawn)
	if err != nil {
		return Preflight{}, err
	}
	if len(problems) == 0 {
		return l.Preflight(ctx, actor, r)
	}
	c, p := &checks{}, plan{}
	if err := l.resolveTarget(ctx, actor, r, c, &p); err != nil {
		return Preflight{}, err
	}
	err = reportProblems("the draft", problems, c)
	c.recordUnknown("tag", "", "Images and room are looked at once the draft has no problem.")
	return Preflight{Checks: c.all}, err
}

// CreatePreview creates a deployment from an unpublished pipeline, or a branch of it. It
// cannot be retried, cloned or moved, because the pipeline is not stored.
func (l *Lifecycle) CreatePreview(
	ctx context.Context, actor access.Actor, r Request, drawn PreviewPipeline,
) (controlplane.Deployment, error) {
	r, problems, err := l.preparePreview(ctx, actor, r, drawn)
	if err == nil {
		c := &checks{}
		err = c.refusalOr(reportProblems("the draft", problems, c))
	}
	if err != nil {
		return controlplane.Deployment{}, l.recordRefusal(ctx, actor, "create", r.Name, err)
	}
	return l.Create(ctx, actor, r)
}

// preparePreview fills the drawing in from the catalogue, cuts the branch out of it with the
// pinned outputs, and leaves out the versions and the input of what does not run.
func (l *Lifecycle) preparePreview(
	ctx context.Context, actor access.Actor, r Request, drawn PreviewPipeline,
) (Request, []controlplane.Problem, error) {
	if err := checkPreview(drawn); err != nil {
		return r, nil, err
	}
	p, err := l.fillPinned(ctx, actor, r.Project, drawn)
	if err != nil {
		return r, nil, err
	}
	p = pipeline.PinnedBranch(p, drawn.Pinned, drawn.Steps...)
	p, problems, err := l.catalog.FillPipeline(ctx, actor, r.Project, p)
	if err != nil {
		return r, nil, err
	}
	pinned, err := l.catalog.PinnedProblems(p)
	if err != nil {
		return r, nil, err
	}
	problems = append(problems, pinned...)
	r.Versions = maps.Clone(r.Versions)
	maps.DeleteFunc(r.Versions, func(key pipeline.StepKey, _ string) bool {
		_, pinned := drawn.Pinned[key]
		_, ok := p.Step(key)
		return !ok || pinned
	})
	r.Input = maps.Clone(r.Input)
	maps.DeleteFunc(r.Input, func(name string, _ any) bool {
		_, declared := drawn.Pipeline.InputField(name)
		_, needed := p.InputField(name)
		return declared && !needed
	})
	r.Draft = &p
	return r, problems, nil
}

// checkPreview refuses steps that are not there, and outputs of steps that have to run.
func checkPreview(drawn PreviewPipeline) error {
	for _, key := range drawn.Steps {
		if _, ok := drawn.Pipeline.Step(key); !ok {
			return unknownStep("steps", key)
		}
		if _, ok := drawn.Pinned[key]; ok {
			return &controlplane.Error{Kind: controlplane.Invalid, Code: "pinned_step",
				Field: "pinned." + string(key), Message: "step " + string(key) +
					" cannot both run and have its outputs pinned",
				Remedy: "Unpin it, or run a step after it."}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(drawn.Pinned)) {
		switch s, ok := drawn.Pipeline.Step(key); {
		case !ok:
			return unknownStep("pinned", key)
		case s.Service != nil:
			return &controlplane.Error{Kind: controlplane.Invalid, Code: "pinned_service",
				Field: "pinned." + string(key), Message: "step " + string(key) +
					" is a service, which has no outputs to pin",
				Remedy: "Let it run. Only steps that end can be pinned."}
		}
	}
	return nil
}

func unknownStep(field string, key pipeline.StepKey) error {
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "unknown_step",
		Field: field, Message: "the pipeline has no step " + string(key),
		Remedy: "Name steps that are in the pipeline."}
}

// fillPinned fills in what the pinned steps declare: which of their outputs are secret. Whatever
// else is wrong with them does not matter, because they do not run.
func (l *Lifecycle) fillPinned(
	ctx context.Context, actor access.Actor, project string, drawn PreviewPipeline,
) (pipeline.Pipeline, error) {
	p := drawn.Pipeline
	if len(drawn.Pinned) == 0 {
		return p, nil
	}
	var only pipeline.Pipeline
	for key := range drawn.Pinned {
		s, _ := p.Step(key)
		only.Steps = append(only.Steps, s)
	}
	only, _, err := l.catalog.FillPipeline(ctx, actor, project, only)
	if err != nil {
		return p, err
	}
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if filled, ok := only.Step(s.Key); ok {
			p.Steps[i] = filled
		}
	}
	return p, nil
}

// checkPublished refuses to make a deployment again that was made from a drawing.
func (l *Lifecycle) checkPublished(
	ctx context.Context,
	d controlplane.Deployment,
	want string,
) error {
	return l.store.Read(ctx, func(tx *postgres.Tx) error {
		return requirePublished(ctx, tx, d, want)
	})
}

func requirePublished(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, want string,
) error {
	lives, err := tx.Lifetimes().ListOf(ctx, d.ID)
	if err != nil || !lives[d.ID].Scratch {
		return err
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "scratch",
		Message: "deployment " + d.Name + " was made from a draft and cannot be " + want,
		Remedy:  "Run the branch again from the pipeline's editor."}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline"
)

// pipeline compares what people wrote, and has the rest validated.
func (d *dryRun) pipeline(
	ctx context.Context, doc document, now, wish object, exists bool,
) error {
	what := "pipeline " + doc.Name
	if !exists {
		problems, err := d.local(ctx, wish)
		if err != nil || len(problems) > 0 {
			return errors.Join(err, d.refuse(what, problems))
		}
		return d.say(what, "would be created")
	}
	p := *wish.Pipeline
	r, err := d.api.ValidatePipelineWithResponse(ctx, doc.Name, apiclient.PipelinePut{Pipeline: p})
	if err := answered(r, err); err != nil {
		return err
	}
	if problems := d.problems(wish, r.JSON200.Problems); len(problems) > 0 {
		return d.refuse(what, problems)
	}
	var old pipeline.Pipeline
	if now.Pipeline != nil {
		old = *now.Pipeline
	}
	diff, err := pipeline.Compare(old, pipeline.AsWritten(p))
	if err != nil {
		return err
	}
	switch {
	case !diff.Empty():
		if err := d.say(what, "would change"); err != nil {
			return err
		}
		printDiff(d.out, "    ", diff)
		return nil
	case r.JSON200.Changes:
		return d.say(what, "would get a new version: the services or plugins it uses changed")
	}
	return d.say(what, "unchanged")
}

func (d *dryRun) refuse(what string, problems []apiclient.FieldProblem) error {
	d.refused++
	err := d.say(what, "has problems:")
	for _, f := range problems {
		fmt.Fprintf(d.out, "    %s\n", visible(problemText(f)))
	}
	return err
}

// local validates the pipeline of a project that is not there yet, which the
// control plane cannot. Types of parameters and outputs show when it is saved.
func (d *dryRun) local(ctx context.Context, wish object) ([]apiclient.FieldProblem, error) {
	body, _ := wish.Body.(apiclient.ProjectPut)
	var found []apiclient.FieldProblem
	add := func(step pipeline.StepKey, field, code, message string) {
		key := string(step)
		found = append(found, apiclient.FieldProblem{
			Step: &key, Field: field, Code: code, Message: message})
	}
	for _, p := range pipeline.Validate(*wish.Pipeline, pipeline.Settings{
		Limits: body.Resources, Secrets: slices.Collect(maps.Keys(wish.Secrets))}) {
		if p.Code != "missing_image" && p.Code != "missing_component" {
			add(p.Step, p.Field, p.Code, p.Message)
		}
	}
	for _, s := range wish.Pipeline.Steps {
		used := document{}
		switch {
		case s.Service != nil:
			used = document{Kind: "service", Name: s.Service.Name}
		case s.Plugin != nil:
			used = document{Kind: "plugin", Name: s.Plugin.Name}
		}
		if used.Name == "" || d.wanted[used.String()] {
			continue
		}
		if _, exists, err := d.current(ctx, used); err != nil {
			return found, err
		} else if !exists {
			add(s.Key, used.Kind+".name", "unknown_"+used.Kind,
				"there is no "+used.String()+" in the catalogue")
		}
	}
	return found, nil
}

// problems leaves out what the other documents, applied before, will settle,
// and holds the pipeline to the limits that the project is going to have.
func (d *dryRun) problems(wish object, found []apiclient.FieldProblem) []apiclient.FieldProblem {
	found = slices.DeleteFunc(found, func(f apiclient.FieldProblem) bool {
		s, _ := wish.Pipeline.Step(pipeline.StepKey(deref(f.Step)))
		switch f.Code {
		case "unknown_service":
			return s.Service != nil && d.wanted["service "+s.Service.Name]
		case "unknown_plugin":
			return s.Plugin != nil && d.wanted["plugin "+s.Plugin.Name]
		case "unknown_secret":
			return slices.ContainsFunc(slices.Collect(maps.Keys(wish.Secrets)),
				func(name string) bool { return strings.Contains(f.Message, `"`+name+`"`) })
		}
		return strings.Contains(f.Field, "resources")
	})
	body, _ := wish.Body.(apiclient.ProjectPut)
	for _, p := range pipeline.Validate(*wish.Pipeline, pipeline.Settings{Limits: body.Resources}) {
		if strings.Contains(p.Field, "resources") {
			step := string(p.Step)
			found = append(found, apiclient.FieldProblem{
				Step: &step, Field: p.Field, Code: p.Code, Message: p.Message})
		}
	}
	return found
}

func problemText(f apiclient.FieldProblem) string {
	if deref(f.Step) == "" {
		return f.Field + ": " + f.Message
	}
	return "step " + *f.Step + ", " + f.Field + ": " + f.Message
}

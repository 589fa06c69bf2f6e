package catalog

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// checkServiceStep holds the beginning of a step to the rules of pipelines. What it refers to is
// known only once it is part of one, so references are not followed.
func checkServiceStep(p ServicePut) error {
	if p.Step == nil {
		return nil
	}
	step := *p.Step
	step.Name, step.Image = p.Name, &pipeline.Image{Registry: "localhost", Repository: p.Image,
		TagMode: p.TagMode, Pattern: p.Pattern, Tag: p.Tag}
	if step.Resources.MemoryMiB == 0 {
		step.Resources.MemoryMiB = 256
	}
	drawn := pipeline.Pipeline{Steps: []pipeline.Step{
		{Key: pipeline.StepKey(p.Name), Service: &step}}}
	drawn.Format = pipeline.FormatOf(drawn)
	settings := pipeline.Settings{Secrets: pipeline.SecretNames(drawn)}
	var found []controlplane.Problem
	for _, one := range pipeline.Validate(drawn, settings) {
		switch one.Code {
		case "unknown_step", "unknown_service", "not_ancestor":
			continue
		}
		found = append(found, controlplane.Problem{Code: one.Code, Message: one.Message,
			Field: "step" + strings.TrimPrefix(one.Field, "service")})
	}
	if len(found) == 0 {
		return nil
	}
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "step_invalid", Field: "step",
		Message: "new steps of the service could not be saved in a pipeline: " + found[0].Message,
		Remedy:  "Change what is listed and save again.", Problems: found}
}

// normalizeStep brings a step into the form in which it is read back, to see whether it changed.
func normalizeStep(p ServicePut) (out *pipeline.ServiceStep, err error) {
	if p.Step == nil {
		return nil, nil
	}
	step := *p.Step
	step.Name, step.Image = p.Name, nil
	text, err := json.Marshal(step)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the step of service %s: %w", p.Name, err)
	}
	return out, nil
}

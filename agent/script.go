package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/internal/script"
	"github.com/nullops/nullops/pipeline"
)

// Codes of scripts that fail a run.
const (
	CodeScriptFailed = "script_failed"
	// CodeScriptUnavailable: the node cannot confine scripts.
	CodeScriptUnavailable = "script_unavailable"
)

// runScript calls a function of a script. The agent does that itself, beside the Runtime, in a
// confined process of its own binary, so that scripts run with every container engine.
func (o operation) runScript(ctx context.Context, s *pipeline.ScriptStep) operationResult {
	request, err := o.scriptRequest(s)
	if err != nil {
		f := o.resultOf(ctx, err, CodeUnresolved)
		f.result.Harmless = true
		return f
	}
	lines := o.base.newLineWriter(o)
	answer, err := o.base.scripts.Run(ctx, request, lines.writeText)
	lines.flushPartial()
	lines.reportMissedLines(answer.Dropped)
	switch {
	case errors.Is(err, script.ErrConfine):
		return o.resultOf(ctx, err, CodeScriptUnavailable)
	case err != nil:
		// The machine could not start it now. Running it again is harmless.
		r := o.classifyErr(ctx, err, engine.CodeUnknownOutcome)
		r.Outcome = engine.OutcomeUnknown
		return operationResult{result: r}
	case answer.Problem != nil:
		return operationResult{result: engine.Result{Outcome: engine.OutcomeNo,
			Code: scriptCode(answer.Problem.Kind), Message: answer.Problem.Error()}}
	}
	if answer.Outputs == nil {
		answer.Outputs = map[string]any{}
	}
	done := operationResult{ran: true, outputs: answer.Outputs,
		result: engine.Result{Outcome: engine.OutcomeOK}}
	step, _ := o.goal.Pipeline.Step(o.do.Step)
	return validateOutputs(done, o.do.Action, step.Declares(), scriptMismatch)
}

func scriptCode(k script.Kind) string {
	switch k {
	case script.TimedOut:
		return CodeTimeout
	case script.Memory:
		return CodeOOM
	case script.Outputs:
		return CodeInvalidOutput
	default:
		return CodeScriptFailed
	}
}

// scriptRequest resolves what the script gets. It holds secrets.
func (o operation) scriptRequest(s *pipeline.ScriptStep) (r script.Request, err error) {
	g, b, key := o.goal, o.bundle, o.do.Step
	r = script.Request{Action: o.do.Action, Source: s.Source, Clock: s.Clock,
		Timeout: time.Duration(s.Seconds()) * time.Second,
		Input: script.Input{Secrets: map[string]string{}, Outputs: b.outputs[key].Values,
			Services: map[string]script.Service{},
			Deployment: script.Deployment{ID: g.Context.ID, Name: g.Context.Name,
				Environment: g.Context.Environment, Project: g.Context.Project,
				Domain: g.Context.Domain},
			Run: script.Run{ID: g.Run, Step: string(key), Attempt: o.do.Attempt}}}
	for name, service := range servicesBefore(g, key) {
		r.Input.Services[name] = script.Service(service)
	}
	values := newScope(g, b)
	parameters, err := pipeline.EvalTree(s.Parameters, values)
	if err != nil {
		return r, fmt.Errorf("parameters.%w", err)
	}
	if parameters.Secret {
		// Saving refuses references to secrets; this one is in the output of an earlier step.
		return r, errors.New("parameters hold a secret that an earlier step returned; give it to " +
			"the script under secrets")
	}
	r.Input.Parameters, _ = parameters.Data.(map[string]any)
	for _, name := range sortedKeys(s.Secrets) {
		text, _, err := pipeline.EvalText(s.Secrets[name], values)
		if err != nil {
			return r, fmt.Errorf("secrets.%s: %w", name, err)
		}
		r.Input.Secrets[name] = text
	}
	return r, nil
}

package agent

import (
	"errors"
	"fmt"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/stdio"
)

// Codes of failed steps. People and scripts search for them, so they never change.
const (
	CodeInvalidOutput    = "invalid_output"
	CodeTwoDocuments     = "two_documents"
	CodeNoOutput         = "no_output"
	CodeStdoutTooLarge   = "stdout_too_large"
	CodeOutputsTooLarge  = "outputs_too_large"
	CodeExitCode         = engine.CodeExitCode
	CodeTimeout          = engine.CodeTimeout
	CodeOOM              = "oom"
	CodeKilledByStranger = "killed_by_stranger"
	CodePluginFailed     = "plugin_failed"
	CodeImagePull        = "image_pull"
	CodeUnresolved       = "unresolved"
)

// exitSIGKILL is 128 + SIGKILL, as a shell counts.
const exitSIGKILL = 137

// evaluateResult maps how a plugin ended to a step's result, with one sentence for each
// case.
func evaluateResult(spec PluginSpec, r PluginResult) operationResult {
	fail := func(code, format string, args ...any) operationResult {
		f := operationResult{result: engine.Result{Outcome: engine.OutcomeNo, Code: code,
			Message: fmt.Sprintf(format, args...)}}
		if code == CodeExitCode || code == CodeOOM || code == CodeKilledByStranger {
			f.result.ExitCode = &r.ExitCode
		}
		return f
	}
	switch {
	case r.Overflow:
		return fail(CodeStdoutTooLarge, "the plugin printed more than %d bytes on stdout and was "+
			"killed; logs belong on stderr", spec.StdoutLimit)
	case r.TimedOut:
		return fail(CodeTimeout, "the plugin did not end within %s and was killed", spec.Timeout)
	case r.Canceled:
		return fail(engine.CodeCanceled, "the plugin was stopped, because the run was canceled")
	case r.OOM:
		return fail(CodeOOM, "%s", exitSentence("the plugin", r.ExitCode, true, spec.Resources))
	case r.ExitCode == exitSIGKILL:
		return fail(CodeKilledByStranger, "%s",
			exitSentence("the plugin", r.ExitCode, false, spec.Resources))
	}
	answer, err := stdio.ParseResponse(r.Stdout)
	if r.ExitCode != 0 {
		said := ""
		if err == nil && answer.Output != "" {
			said = ": " + answer.Output
		}
		return fail(CodeExitCode, "the plugin ended with exit code %d%s", r.ExitCode, said)
	}
	if err != nil {
		return fail(outputCode(err), "%v", err)
	}
	if !answer.Success {
		return fail(CodePluginFailed, "the plugin reported failure: %s", orNoReason(answer.Output))
	}
	return acceptResponse(answer, fail)
}

func acceptResponse(
	answer stdio.Response,
	fail func(string, string, ...any) operationResult,
) operationResult {
	if err := answer.CheckSize(); err != nil {
		return fail(CodeOutputsTooLarge, "%v", err)
	}
	zero := 0
	if answer.Outputs == nil {
		answer.Outputs = map[string]any{}
	}
	return operationResult{ran: true, outputs: answer.Outputs, result: engine.Result{
		Outcome: engine.OutcomeOK, Message: answer.Output, ExitCode: &zero,
		Metadata: wireMetadata(answer)}}
}

func wireMetadata(answer stdio.Response) []wire.Metadatum {
	var all []wire.Metadatum
	for _, m := range answer.Metadata {
		all = append(all, wire.Metadatum(m))
	}
	return all
}

func outputCode(err error) string {
	var problem *stdio.ResponseError
	if !errors.As(err, &problem) {
		return CodeInvalidOutput
	}
	switch problem.Problem {
	case stdio.ProblemNothing:
		return CodeNoOutput
	case stdio.ProblemTwoDocuments:
		return CodeTwoDocuments
	case stdio.ProblemTooLarge:
		return CodeStdoutTooLarge
	default:
		return CodeInvalidOutput
	}
}

func orNoReason(text string) string {
	if text == "" {
		return "it gave no reason"
	}
	return text
}

func exitSentence(who string, code int, oom bool, r pipeline.Resources) string {
	switch {
	case oom && r.MemoryMiB > 0:
		return fmt.Sprintf("%s ran out of memory: its limit is %d MiB", who, r.MemoryMiB)
	case oom:
		return who + " ran out of memory"
	case code == exitSIGKILL:
		return who + " was killed (exit code 137), but neither by NullOps nor for its memory; " +
			"look for who else manages containers on this node"
	}
	return fmt.Sprintf("%s ended with exit code %d", who, code)
}

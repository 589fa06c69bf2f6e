package agent

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/logcause"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/text"
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
// case. If the plugin gave no reason, its last log lines may have one.
func evaluateResult(spec PluginSpec, r PluginResult, log []string) operationResult {
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
		return fail(CodeStdoutTooLarge, "the plugin printed more than %s on stdout and was "+
			"killed; logs belong on stderr", quantity.FormatBytes(spec.StdoutLimit))
	case r.TimedOut:
		return fail(CodeTimeout, "the plugin did not end within %s and was killed%s",
			quantity.FormatDuration(spec.Timeout), quoteCause(log))
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
		said := quoteCause(log)
		if err == nil && answer.Output != "" {
			said = ": " + oneReason(answer.Output)
		}
		return fail(CodeExitCode, "%s%s",
			exitSentence("the plugin", r.ExitCode, false, spec.Resources), said)
	}
	if err != nil {
		return fail(outputCode(err), "%v%s", err, quoteCause(log))
	}
	if !answer.Success {
		return fail(CodePluginFailed, "the plugin reported failure: %s", oneReason(answer.Output))
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

// oneReason makes one line of the reason that a plugin gave: of several lines, the one that names
// the cause. All of them are in the step's log.
func oneReason(given string) string {
	lines := strings.Split(strings.TrimSpace(given), "\n")
	if cause := logcause.Find(lines); len(lines) > 1 && cause.IsError {
		return cause.Text
	}
	if reason := text.CleanLine(lines[0], ProbeOutput); reason != "" {
		return reason
	}
	return "it gave no reason"
}

// writeReason writes the reason of a failure that has several lines to the step's log: in a
// sentence, there is room for one of them.
func (l *lineWriter) writeReason(r PluginResult) {
	answer, err := stdio.ParseResponse(r.Stdout)
	if err != nil || answer.Success && r.ExitCode == 0 {
		return
	}
	if lines := strings.Split(strings.TrimSpace(answer.Output), "\n"); len(lines) > 1 {
		for _, line := range lines {
			l.writeText(line)
		}
	}
}

func exitSentence(who string, code int, oom bool, r pipeline.Resources) string {
	switch {
	case oom && r.MemoryMiB > 0:
		return fmt.Sprintf("%s ran out of memory: its limit is %s", who,
			quantity.FormatLimit(r.MemoryMiB))
	case oom:
		return who + " ran out of memory"
	case code == exitSIGKILL:
		return who + " was killed (exit code 137), but neither by NullOps nor for its memory; " +
			"look for who else manages containers on this node"
	}
	return fmt.Sprintf("%s ended with exit code %d%s", who, code, explainExit(code))
}

// explainExit says what an exit code means beyond what programs agree on: shells and our
// sandbox use 126 and 127, and 128 and more is a signal.
func explainExit(code int) string {
	switch {
	case code == 126:
		return " (its command cannot be executed)"
	case code == 127:
		return " (its command was not found)"
	case code > 128 && code < 128+65:
		if name := unix.SignalName(syscall.Signal(code - 128)); name != "" {
			return " (" + name + ")"
		}
	}
	return ""
}

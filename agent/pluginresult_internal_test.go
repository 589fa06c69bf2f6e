package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/stdio"
)

// Each way to end badly has its own code and its own sentence.
//
// threat: T21
// fault: F48
func TestJudge_TellsEveryEndApart(t *testing.T) {
	spec := PluginSpec{Timeout: time.Minute, StdoutLimit: 1 << 20,
		Resources: pipeline.Resources{MemoryMiB: 64}}
	out := func(s string) PluginResult { return PluginResult{Stdout: []byte(s)} }
	seen := map[string]bool{}
	for _, c := range []struct {
		r     PluginResult
		code  string
		words string
	}{
		// promise: N-065
		{out("oops"), CodeInvalidOutput, "not valid JSON"},
		{out(`{"success":true} {"success":true}`), CodeTwoDocuments, "second JSON document"},
		{out(" \n"), CodeNoOutput, "printed nothing"},
		{PluginResult{Overflow: true, ExitCode: exitSIGKILL}, CodeStdoutTooLarge, "more than 1.0 MB"},
		// promise: N-061
		{PluginResult{ExitCode: 3, Stdout: []byte(`{"success":true,"output":"no disk"}`)},
			CodeExitCode, "exit code 3: no disk"},
		{PluginResult{TimedOut: true, ExitCode: exitSIGKILL}, CodeTimeout, "within 1 minute"},
		{PluginResult{OOM: true, ExitCode: exitSIGKILL}, CodeOOM, "limit is 64 MiB"},
		{PluginResult{ExitCode: exitSIGKILL}, CodeKilledByStranger, "neither by NullOps"},
		{PluginResult{Canceled: true, ExitCode: exitSIGKILL}, engine.CodeCanceled, "run was canceled"},
		{out(`{"success":false,"output":"role exists"}`), CodePluginFailed, "role exists"},
		{out(`{"success":true,"outputs":{"a":"` + strings.Repeat("x", stdio.MaxOutputs) + `"}}`),
			CodeOutputsTooLarge, "are the most"},
	} {
		f := evaluateResult(spec, c.r, nil)
		if f.ran || f.result.Outcome != engine.OutcomeNo || f.outputs != nil ||
			f.result.Code != c.code || !strings.Contains(f.result.Message, c.words) {
			t.Errorf("%s: got %+v", c.code, f)
		}
		if seen[f.result.Message] {
			t.Errorf("%q is said of two ends", f.result.Message)
		}
		seen[f.result.Message] = true
	}
	// Without a reason in its answer, its log says why.
	for said, r := range map[string]PluginResult{
		"exit code 127 (its command was not found); its log says: no such role": {ExitCode: 127},
		"exit code 139 (SIGSEGV); its log says: no such role":                   {ExitCode: 139},
		"print one JSON object; its log says: no such role":                     out(""),
		"within 1 minute and was killed; its log says: no such role":            {TimedOut: true},
	} {
		f := evaluateResult(spec, r, []string{"connecting", "no such role"})
		// promise: U-01
		if !strings.HasSuffix(f.result.Message, said) {
			t.Errorf("%q does not end with %q", f.result.Message, said)
		}
	}
	// Of a reason with several lines, the sentence has the one that names the cause.
	for said, given := range map[string]string{
		"reported failure: ValueError: no prices": `Traceback (most recent call last):\n  x()\n` +
			`ValueError: no prices\n`,
		"reported failure: no prices":         `no prices\nsee the manual`,
		"reported failure: it gave no reason": ``,
	} {
		f := evaluateResult(spec, out(`{"success":false,"output":"`+given+`"}`), nil)
		// promise: U-01
		if !strings.HasSuffix(f.result.Message, said) {
			t.Errorf("%q does not end with %q", f.result.Message, said)
		}
	}
	good := evaluateResult(spec, out(`{"success":true,"outputs":{"a":1}}`), nil)
	if !good.ran || good.result.Outcome != engine.OutcomeOK || good.outputs["a"] != 1.0 {
		t.Errorf("a good answer: %+v", good)
	}
}

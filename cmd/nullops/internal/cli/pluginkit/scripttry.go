package pluginkit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/script"
)

// isScript reports whether the argument of 'nullops plugin test' is the source of a script
// step.
func isScript(what string) bool {
	switch filepath.Ext(what) {
	case ".js", ".mjs", ".ts":
		return true
	}
	return false
}

// recordedScriptInput is a recorded input: a plugin's request, and whether the step grants the
// clock.
type recordedScriptInput struct {
	Action string `json:"action"`
	Clock  bool   `json:"clock"`
	script.Input
}

// runScript runs the recorded inputs of a script in the process that an agent uses. Without
// recorded inputs it only loads the script.
func (f *tryFlags) runScript(ctx context.Context, out io.Writer, path string) error {
	values, err := parseSettings(f.settings)
	if err != nil {
		return err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the script: %w", err)
	}
	name := filepath.Base(path)
	var runner script.Runner
	loaded, err := runner.Run(ctx, script.Request{Action: script.ActionCheck,
		Source: string(source)}, nil)
	if err == nil && loaded.Problem != nil {
		err = fmt.Errorf("%s: %w", name, loaded.Problem)
	}
	if err != nil {
		return err
	}
	p := pluginFolder{inputs: cmp.Or(f.inputs, filepath.Join(filepath.Dir(path), "testdata"))}
	samples, err := p.readSamples(values)
	if err != nil {
		return err
	}
	failed := 0
	for _, s := range samples {
		if len(s.missing) > 0 {
			fmt.Fprintf(out, "SKIP %s: give --set for %s\n", s.name, strings.Join(s.missing, ", "))
			continue
		}
		if err := runScriptSample(ctx, out, &runner, string(source), s); err != nil {
			failed++
		}
	}
	if len(samples) == 0 {
		fmt.Fprintf(out, "ok   %s loads; record inputs as %s/NAME.in.json to call it\n", name, p.inputs)
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d failed", name, failed)
	}
	return nil
}

// runScriptSample runs one recorded input, shows all about it, and compares the answer with
// the recorded one.
func runScriptSample(
	ctx context.Context, out io.Writer, runner *script.Runner, source string, s recordedSample,
) error {
	var in recordedScriptInput
	reader := json.NewDecoder(bytes.NewReader(s.in))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&in); err != nil {
		err = fmt.Errorf("the recorded input: %w", err)
		printTrialResult(out, s.name, 0, err)
		return err
	}
	var log []string
	begun := time.Now()
	ran, err := runner.Run(ctx, script.Request{Action: cmp.Or(in.Action, script.ActionCreate),
		Source: source, Input: in.Input, Clock: in.Clock},
		func(line string) { log = append(log, line) })
	took := time.Since(begun)
	answer := map[string]any{"success": ran.Problem == nil}
	switch {
	case ran.Problem != nil:
		answer["output"] = ran.Problem.Error()
	case len(ran.Outputs) > 0:
		answer["outputs"] = ran.Outputs
	}
	if err == nil {
		err = compareScriptAnswer(ran, answer, s)
	}
	printTrialResult(out, s.name, took, err)
	printIndented(out, "in ", strings.TrimSpace(string(s.in)))
	for _, line := range log {
		printIndented(out, "log", line)
	}
	text, _ := json.Marshal(answer) // plain data always marshals
	printIndented(out, "out", string(text))
	return err
}

func compareScriptAnswer(ran script.Response, answer map[string]any, s recordedSample) error {
	if len(s.out) == 0 {
		if ran.Problem != nil {
			return ran.Problem
		}
		return nil
	}
	var should any
	if err := json.Unmarshal(s.out, &should); err != nil {
		return fmt.Errorf("the recorded answer: %w", err)
	}
	return firstDifference("answer", any(answer), should)
}

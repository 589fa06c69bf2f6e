package pluginkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/plugins/conformance"
	"github.com/nullops/nullops/plugins/stdio"
)

// runSamples runs the recorded inputs in their order and counts those that failed.
func (t *pluginTrial) runSamples(ctx context.Context, out io.Writer, samples []recordedSample) int {
	failed := 0
	for _, s := range samples {
		if len(s.missing) > 0 {
			fmt.Fprintf(out, "SKIP %s: give --set for %s\n", s.name, strings.Join(s.missing, ", "))
			continue
		}
		if err := t.runSample(ctx, out, s); err != nil {
			failed++
		}
	}
	return failed
}

// runSample runs one recorded input and shows all about it.
func (t *pluginTrial) runSample(ctx context.Context, out io.Writer, s recordedSample) error {
	begun := time.Now()
	ran, err := t.run(ctx, s.in)
	took := time.Since(begun)
	if err == nil {
		err = t.compareAnswer(ran, s)
	}
	printTrialResult(out, s.name, took, err)
	printIndented(out, "in ", strings.TrimSpace(string(s.in)))
	for _, line := range ran.Log {
		printIndented(out, "log", line)
	}
	printIndented(out, "out", strings.TrimSpace(string(ran.Stdout)))
	return err
}

// printTrialResult prints whether one check succeeded.
func printTrialResult(out io.Writer, what string, d time.Duration, err error) {
	took := quantity.FormatElapsed(d)
	if err != nil {
		fmt.Fprintf(out, "FAIL %s (%s): %s\n", what, took, output.SanitizeText(err.Error()))
		return
	}
	fmt.Fprintf(out, "ok   %s (%s)\n", what, took)
}

func printIndented(out io.Writer, what, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(out, "     %s %s\n", what, output.SanitizeText(strings.TrimRight(line, "\n")))
	}
}

// compareAnswer holds an answer to the contract, to the component's own schema, and to
// the recorded answer.
func (t *pluginTrial) compareAnswer(ran conformance.RunResult, s recordedSample) error {
	answer, err := ran.ParseAnswer()
	if err != nil {
		return err
	}
	if answer.Success && s.requestObject()["action"] == string(stdio.ActionCreate) {
		if err := t.checkOutputs(answer.Outputs); err != nil {
			return fmt.Errorf("outputs: %w", err)
		}
	}
	if len(s.out) == 0 {
		return nil
	}
	var is, should any
	err = errors.Join(json.Unmarshal(ran.Stdout, &is), json.Unmarshal(s.out, &should))
	if err != nil {
		return fmt.Errorf("the recorded answer: %w", err)
	}
	return firstDifference("answer", is, should)
}

// checkOutputs compares outputs with the schema that component.json declares, as the
// control plane does. What is wrong with the schema itself is validate's to say.
func (t *pluginTrial) checkOutputs(outputs map[string]any) error {
	schema, err := schemaOf("outputs", t.plugin.component.Outputs)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if outputs == nil {
		outputs = map[string]any{}
	}
	return checkSchema(schema, outputs)
}

// firstDifference names the first place where two answers differ.
func firstDifference(at string, is, should any) error {
	if should == "<any>" && is != nil {
		return nil
	}
	switch want := should.(type) {
	case map[string]any:
		got, same := is.(map[string]any)
		if !same || len(got) != len(want) {
			return fmt.Errorf("%s is %v instead of %v", at, is, should)
		}
		for name, value := range want {
			if err := firstDifference(at+"."+name, got[name], value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, same := is.([]any)
		if !same || len(got) != len(want) {
			return fmt.Errorf("%s is %v instead of %v", at, is, should)
		}
		for i, value := range want {
			if err := firstDifference(fmt.Sprintf("%s[%d]", at, i), got[i], value); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(is, should) {
		return fmt.Errorf("%s is %v instead of %v", at, is, should)
	}
	return nil
}

// runConformance runs the conformance suite and counts what failed.
func (t *pluginTrial) runConformance(
	ctx context.Context,
	out io.Writer,
	samples []recordedSample,
) (int, error) {
	verdicts, err := conformance.Check(ctx, conformance.TestedPlugin{Component: t.plugin.component,
		Create: workingCreate(samples), Fits: t.checkOutputs, Run: t.run})
	failed := 0
	for _, v := range verdicts {
		switch {
		case v.Skipped != "":
			fmt.Fprintf(out, "SKIP %s: %s\n", v.Check, output.SanitizeText(v.Skipped))
		case v.Problem != "":
			failed++
			printTrialResult(out, v.Check, v.Took, errors.New(v.Problem))
		default:
			printTrialResult(out, v.Check, v.Took, nil)
		}
	}
	return failed, err
}

// workingCreate is the first recorded create that works; nil if there is none.
func workingCreate(samples []recordedSample) map[string]any {
	for _, s := range samples {
		r := s.requestObject()
		if r["action"] == string(stdio.ActionCreate) && s.isSuccess() && len(s.missing) == 0 {
			return r
		}
	}
	return nil
}

// Package conformance says whether a plugin keeps its side of the contract. Any
// plugin can be put through it, in any language: it sees only what goes in and
// what comes out.
//
// It needs one recorded input whose create works; it makes everything else from
// that, and ends with a delete. It never judges what a plugin does, only how it
// answers, so a plugin that passes may still do the wrong thing.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/plugins/stdio"
)

// RunResult is how one run of a plugin ended.
type RunResult struct {
	Stdout []byte
	// Log is standard error, line by line.
	Log      []string
	ExitCode int
	// At most one is set: it was killed, and why.
	TimedOut, OutOfMemory, Overflow bool
}

// ParseAnswer reads what the plugin printed as an agent does; an error says why an
// agent would not take it. An answer with success=false is an answer.
func (r RunResult) ParseAnswer() (stdio.Response, error) {
	switch {
	case r.TimedOut:
		return stdio.Response{}, errors.New("it did not end in time and was killed")
	case r.OutOfMemory:
		return stdio.Response{}, errors.New("it ran out of memory and was killed")
	case r.Overflow:
		return stdio.Response{}, fmt.Errorf("it printed more than %s on stdout and was "+
			"killed; logs belong on stderr", quantity.FormatBytes(stdio.MaxResponse))
	}
	answer, err := stdio.ParseResponse(r.Stdout)
	switch {
	case err != nil:
		return answer, err
	case answer.Success && r.ExitCode != 0:
		return answer, fmt.Errorf("success is true, but the exit code is %d", r.ExitCode)
	}
	return answer, answer.CheckSize()
}

// Run runs the plugin once with this on standard input. It must use the limits
// and the network that the component declares. A done context asks the plugin
// to stop, as SIGTERM does, and kills it some seconds later.
type Run func(ctx context.Context, stdin []byte) (RunResult, error)

// CheckResult is what one check came to.
type CheckResult struct {
	Check string
	// Problem is empty when the check passed.
	Problem string
	// Skipped says why it was not made.
	Skipped string
	Took    time.Duration
}

// TestedPlugin is the plugin that is looked at.
type TestedPlugin struct {
	Component stdio.Component
	// Create is a recorded request whose create works; nil if there is none.
	Create map[string]any
	// Fits compares outputs with the component's schema.
	Fits func(outputs map[string]any) error
	Run  Run
}

// stopAfter is how long a plugin runs before it is asked to stop; maxStopAfter
// is enough for a container to start on any machine.
const (
	stopAfter    = 300 * time.Millisecond
	maxStopAfter = 10 * time.Second
)

// Check puts the plugin through everything. An error means that a run could not
// be made, not that the plugin did badly.
func Check(ctx context.Context, s TestedPlugin) ([]CheckResult, error) {
	c := &checkRun{TestedPlugin: s}
	for _, one := range c.allChecks() {
		if err := context.Cause(ctx); err != nil {
			return c.verdicts, err
		}
		if strings.HasPrefix(one.name, "check ") && !s.Component.Offers(stdio.ActionCheck) {
			continue // few offer it, and nobody has to
		}
		v, err := c.runCheck(ctx, one)
		if err != nil {
			return c.verdicts, err
		}
		c.verdicts = append(c.verdicts, v)
	}
	return c.verdicts, nil
}

// check is one thing to try.
type check struct {
	name string
	do   func(context.Context) error
	// needs a create that works
	needs bool
}

func (c *checkRun) allChecks() []check {
	return []check{
		{"answers to an empty input", c.expectFailure(""), false},
		{"answers to an input that is not JSON", c.expectFailure("not { json"), false},
		{
			"refuses an action it does not know",
			c.expectRefusal(map[string]any{"action": "no-such"}),
			false,
		},
		{"survives missing parameters", c.expectAnswer(map[string]any{"action": "create"}), false},
		{"create answers with success", c.checkCreate, true},
		{"create tolerates fields of later versions", c.checkLaterFields, true},
		{"create needs only action, parameters and secrets", c.checkBareCreate, true},
		{"create survives missing optional parameters", c.checkOptionalParameters, true},
		{"create may be repeated, as declared", c.checkRepeatedCreate, true},
		{"check says yes to what create made", c.checkFindsCreated, true},
		{"delete succeeds with the outputs of create", c.checkDelete, true},
		{"check says no to what delete removed", c.checkMissesDeleted, true},
		{"delete succeeds when there is nothing left", c.checkDelete, true},
		{"delete succeeds without outputs", c.removeBlind, true},
		{"create works after delete", c.createAndRemove, true},
		{"stops when asked to", c.checkStops, true},
		{"shows no secret", c.checkNoLeaks, true},
	}
}

func (c *checkRun) runCheck(ctx context.Context, one check) (CheckResult, error) {
	v := CheckResult{Check: one.name}
	if one.needs && c.Create == nil {
		v.Skipped = "no recorded create that works"
		return v, nil
	}
	begun := time.Now()
	err := one.do(ctx)
	v.Took = time.Since(begun)
	var could *runError
	var skip skipped
	switch {
	case errors.As(err, &could):
		return v, could.error
	case errors.As(err, &skip):
		v.Skipped = string(skip)
	case err != nil:
		v.Problem = err.Error()
	}
	return v, nil
}

type runError struct{ error }

type skipped string

func (s skipped) Error() string { return string(s) }

// checkRun is one pass through the checks.
type checkRun struct {
	TestedPlugin
	verdicts []CheckResult
	// outputs are those of the last create.
	outputs map[string]any
	// leaks are secrets that were seen, by where.
	leaks []string
}

// runRequest runs the plugin and parses its response; a response that the agent would
// refuse is an error.
func (c *checkRun) runRequest(ctx context.Context, request map[string]any) (stdio.Response, error) {
	input, err := json.Marshal(request)
	if err != nil {
		return stdio.Response{}, &runError{fmt.Errorf("write a request: %w", err)}
	}
	ran, err := c.Run(ctx, input)
	if err != nil {
		return stdio.Response{}, &runError{err}
	}
	answer, err := ran.ParseAnswer()
	c.recordLeaks(request, answer, ran)
	return answer, err
}

// expectFailure requires that the plugin fails, with or without a response.
func (c *checkRun) expectFailure(input string) func(context.Context) error {
	return func(ctx context.Context) error {
		ran, err := c.Run(ctx, []byte(input))
		if err != nil {
			return &runError{err}
		}
		answer, err := ran.ParseAnswer()
		switch {
		case err == nil && answer.Success:
			return errors.New("it reports success")
		case ran.TimedOut || ran.OutOfMemory || ran.Overflow:
			return err
		case ran.ExitCode == 0 && err != nil:
			return fmt.Errorf("exit code 0 and no answer: %w", err)
		}
		return nil
	}
}

func (c *checkRun) expectRefusal(request map[string]any) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := c.runRequest(ctx, request)
		if err == nil && answer.Success {
			return errors.New("it reports success")
		}
		return err
	}
}

// expectAnswer requires any valid response; a failure must come with a sentence in output.
func (c *checkRun) expectAnswer(request map[string]any) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := c.runRequest(ctx, request)
		if err == nil && !answer.Success && strings.TrimSpace(answer.Output) == "" {
			return errors.New("it fails without saying why in output")
		}
		return err
	}
}

func (c *checkRun) newRequest(action stdio.Action, fields ...string) map[string]any {
	r := maps.Clone(c.Create)
	if len(fields) > 0 {
		r = map[string]any{}
		for _, name := range fields {
			if value, given := c.Create[name]; given {
				r[name] = value
			}
		}
	}
	r["action"] = string(action)
	return r
}

func (c *checkRun) runSuccessfully(
	ctx context.Context,
	request map[string]any,
) (stdio.Response, error) {
	answer, err := c.runRequest(ctx, request)
	if err == nil && !answer.Success {
		err = fmt.Errorf("it fails: %s", answer.Output)
	}
	return answer, err
}

func (c *checkRun) runCreate(ctx context.Context, request map[string]any) error {
	answer, err := c.runSuccessfully(ctx, request)
	if err != nil {
		return err
	}
	c.outputs = answer.Outputs
	if c.outputs == nil {
		c.outputs = map[string]any{}
	}
	if c.Fits == nil {
		return nil
	}
	return c.Fits(c.outputs)
}

func (c *checkRun) checkCreate(ctx context.Context) error {
	return c.runCreate(ctx, c.newRequest(stdio.ActionCreate))
}

package catalog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/internal/script/call"
	"github.com/nullops/nullops/pipeline"
)

// mostChecks is how many sources are remembered with what was wrong with them. A source is
// checked at each save and each validation of its pipeline, and the check starts a process.
const mostChecks = 1000

// TestScript limits: a person waits for the answer.
const (
	maxTestTime = 10 * time.Second
	maxTestLog  = 500
)

// Scripts runs scripts in confined processes. The catalogue starts no process itself.
type Scripts interface {
	Run(ctx context.Context, r call.Request, line func(text string)) (call.Response, error)
}

// noScripts is a machine on which no script runs.
type noScripts struct{}

func (noScripts) Run(context.Context, call.Request, func(string)) (call.Response, error) {
	return call.Response{}, call.ErrConfine
}

// scriptChecker checks the sources of script steps. The control plane runs them as an agent
// does: in a confined process, never in its own.
type scriptChecker struct {
	runner  Scripts
	checked *lru.Cache[[sha256.Size]byte, call.Response]
}

func newScriptChecker(runner Scripts) *scriptChecker {
	// Only a size below one is an error.
	checked, _ := lru.New[[sha256.Size]byte, call.Response](mostChecks)
	return &scriptChecker{runner: runner, checked: checked}
}

// check loads a source and returns what is wrong with it. What the machine or a limit of time
// caused is not remembered.
func (s *scriptChecker) check(ctx context.Context, source string) (call.Response, error) {
	key := sha256.Sum256([]byte(source))
	if known, ok := s.checked.Get(key); ok {
		return known, nil
	}
	answer, err := s.runner.Run(ctx, call.Request{Action: call.ActionCheck, Source: source}, nil)
	if err != nil {
		return answer, scriptError(err)
	}
	if answer.Problem == nil || answer.Problem.Kind != call.TimedOut {
		s.checked.Add(key, answer)
	}
	return answer, nil
}

func scriptError(err error) error {
	if errors.Is(err, call.ErrConfine) {
		return &controlplane.Error{Kind: controlplane.Unavailable, Code: "scripts_unavailable",
			Message: "the control plane's machine cannot confine scripts",
			Remedy:  "Let its container use seccomp filters; see docs/scripts.md.", Cause: err}
	}
	if errors.Is(err, call.ErrBusy) {
		return &controlplane.Error{Kind: controlplane.Unavailable, Code: "machine_busy",
			Message: "the control plane's machine is so busy that the script did not begin",
			Remedy:  "Try again in a minute.", Cause: err}
	}
	return fmt.Errorf("run a script: %w", err)
}

// fillScript checks the source of a script step and fills in what it exports.
func (s *scriptChecker) fillScript(
	ctx context.Context, step *pipeline.Step,
) (*controlplane.Problem, error) {
	own := *step.Script
	own.Removes = false
	step.Script = &own
	if own.Source == "" || len(own.Source) > pipeline.MaxScript {
		// pipeline.Validate reports it.
		return nil, nil
	}
	answer, err := s.check(ctx, own.Source)
	if err != nil {
		return nil, err
	}
	own.Removes = answer.Removes
	if answer.Problem == nil {
		return nil, nil
	}
	return &controlplane.Problem{Step: string(step.Key), Field: "script.source",
		Code: "script_" + string(answer.Problem.Kind), Message: answer.Problem.Error()}, nil
}

// checkOutputSchema holds the declared outputs of a script to JSON Schema.
func checkOutputSchema(step pipeline.Step) []controlplane.Problem {
	if len(step.Script.Outputs) == 0 {
		return nil
	}
	if _, err := compileSchema(step.Script.Outputs); err != nil {
		return []controlplane.Problem{{Step: string(step.Key), Field: "script.outputs",
			Code: "schema_invalid", Message: "the outputs are no JSON Schema: " + err.Error()}}
	}
	return nil
}

// ScriptRequest is a test of a script with recorded inputs.
type ScriptRequest = call.Request

// ScriptTest is the result of a test.
type ScriptTest struct {
	call.Response
	Log []string
	// Cut counts lines that were left out of Log.
	Cut  int64
	Took time.Duration
}

// TestScript runs a script with recorded inputs in a confined process. It changes nothing.
func (c *Catalog) TestScript(
	ctx context.Context, actor access.Actor, r ScriptRequest,
) (out ScriptTest, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return out, err
	}
	r.Timeout = min(r.Timeout, maxTestTime)
	began := c.now()
	out.Response, err = c.scripts.runner.Run(ctx, r, func(line string) {
		if len(out.Log) == maxTestLog {
			out.Cut++
			return
		}
		out.Log = append(out.Log, line)
	})
	out.Took = c.now().Sub(began)
	out.Cut += out.Dropped
	if err != nil {
		return out, scriptError(err)
	}
	return out, nil
}

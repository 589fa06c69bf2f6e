package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/conformance"
	"github.com/nullops/nullops/plugins/stdio"
)

// newTestedPlugin returns a plugin in memory: a Go handler, or anything that misbehaves.
func newTestedPlugin(run conformance.Run) conformance.TestedPlugin {
	return conformance.TestedPlugin{
		Component: stdio.Component{
			Actions: []stdio.Action{stdio.ActionCreate, stdio.ActionDelete}, Idempotent: true,
			Parameters: []byte(`{"type":"object","required":["name"]}`),
			Outputs:    []byte(`{"properties":{"password":{"writeOnly":true}}}`),
		},
		Create: map[string]any{
			"parameters": map[string]any{"name": "a", "size": 3.0},
			"secrets":    map[string]any{"token": "the-token-itself"},
		},
		Run: run,
	}
}

func runHandlers(h stdio.Handlers) conformance.Run {
	return func(ctx context.Context, stdin []byte) (conformance.RunResult, error) {
		var out, log bytes.Buffer
		code := stdio.ServeOn(ctx, h, bytes.NewReader(stdin), &out, &log)
		return conformance.RunResult{Stdout: out.Bytes(), Log: strings.Split(log.String(), "\n"),
			ExitCode: code}, nil
	}
}

func answerWell(_ context.Context, r stdio.Request, log *slog.Logger) (stdio.Response, error) {
	if r.Action == stdio.ActionCreate && r.Parameters["name"] == nil {
		return stdio.Response{}, errors.New("parameter name is required")
	}
	log.Info("done")
	return stdio.Response{Success: true, Outputs: map[string]any{"password": "pw-generated"}}, nil
}

func TestCheck_AGoodPluginPasses(t *testing.T) {
	verdicts, err := conformance.Check(t.Context(), newTestedPlugin(runHandlers(stdio.Handlers{
		Create: answerWell, Delete: answerWell})))
	if err != nil || len(verdicts) < 15 {
		t.Fatalf("%d verdicts, %v", len(verdicts), err)
	}
	for _, v := range verdicts {
		if v.Problem != "" || v.Skipped != "" {
			t.Errorf("%s: %s%s", v.Check, v.Problem, v.Skipped)
		}
	}
}

// A plugin that offers check is asked after create and after delete, and must not
// say the same.
func TestCheck_AsksThePluginsOwnCheck(t *testing.T) {
	there := false
	does := func(made bool) stdio.Handler {
		return func(ctx context.Context, r stdio.Request, log *slog.Logger) (stdio.Response, error) {
			there = made
			return answerWell(ctx, r, log)
		}
	}
	for name, check := range map[string]stdio.Handler{
		"": func(context.Context, stdio.Request, *slog.Logger) (stdio.Response, error) {
			return stdio.Response{Success: there, Output: "looked"}, nil
		},
		"check says no to what delete removed": func(
			context.Context, stdio.Request, *slog.Logger) (stdio.Response, error) {
			return stdio.Response{Success: true}, nil
		},
		"check says yes to what create made": func(
			context.Context, stdio.Request, *slog.Logger) (stdio.Response, error) {
			return stdio.Response{Output: "never"}, nil
		},
	} {
		s := newTestedPlugin(runHandlers(
			stdio.Handlers{Create: does(true), Delete: does(false), Check: check}))
		s.Component.Actions = append(s.Component.Actions, stdio.ActionCheck)
		verdicts, err := conformance.Check(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, v := range verdicts {
			if strings.HasPrefix(v.Check, "check ") {
				asked++
			}
			if (v.Problem != "") != (v.Check == name) {
				t.Errorf("%q: %s: %s", name, v.Check, v.Problem)
			}
		}
		if asked != 2 {
			t.Errorf("%q: %d questions", name, asked)
		}
	}
}

// Each way to break the contract is found by the check that is about it.
func TestCheck_FindsEachFault(t *testing.T) {
	fixed := func(stdout string, code int) conformance.Run {
		return func(context.Context, []byte) (conformance.RunResult, error) {
			return conformance.RunResult{Stdout: []byte(stdout), ExitCode: code}, nil
		}
	}
	removed := false
	handlers := func(create, remove stdio.Handler) conformance.Run {
		return runHandlers(stdio.Handlers{Create: create, Delete: remove})
	}
	saying := func(r stdio.Response, line string) stdio.Handler {
		return func(_ context.Context, _ stdio.Request, log *slog.Logger) (stdio.Response, error) {
			log.Info(line)
			return r, nil
		}
	}
	yes := stdio.Response{Success: true}
	for name, c := range map[string]struct {
		run   conformance.Run
		check string
	}{
		"always yes":    {fixed(`{"success":true}`, 0), "refuses an action it does not know"},
		"two answers":   {fixed(`{"success":true}{"success":true}`, 0), "create answers with success"},
		"wrong code":    {fixed(`{"success":true}`, 4), "create answers with success"},
		"silent end":    {fixed(``, 0), "answers to an empty input"},
		"killed":        {fixed(`{"success":false,"output":"x"}`, 137), "stops when asked to"},
		"logs a secret": {handlers(saying(yes, "the-token-itself"), answerWell), "shows no secret"},
		"logs an output": {handlers(saying(stdio.Response{Success: true,
			Outputs: map[string]any{"password": "generated-1"}}, "generated-1"), answerWell),
			"shows no secret"},
		"open output": {handlers(saying(stdio.Response{Success: true,
			Outputs: map[string]any{"url": "x:the-token-itself"}}, ""), answerWell), "shows no secret"},
		"strict reader": {func(ctx context.Context, in []byte) (conformance.RunResult, error) {
			if bytes.Contains(in, []byte("a_field_of")) {
				return fixed(`{"success":false,"output":"unknown field"}`, 1)(ctx, in)
			}
			return runHandlers(stdio.Handlers{Create: answerWell, Delete: answerWell})(ctx, in)
		}, "create tolerates fields of later versions"},
		"delete once": {handlers(answerWell, func(
			context.Context, stdio.Request, *slog.Logger) (stdio.Response, error) {
			if removed {
				return stdio.Response{}, errors.New("not found")
			}
			removed = true
			return yes, nil
		}), "delete succeeds when there is nothing left"},
		"needs outputs": {handlers(answerWell, func(
			_ context.Context, r stdio.Request, _ *slog.Logger) (stdio.Response, error) {
			return stdio.Response{Success: len(r.Outputs) > 0, Output: "which?"}, nil
		}), "delete succeeds without outputs"},
	} {
		verdicts, err := conformance.Check(t.Context(), newTestedPlugin(c.run))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found := false
		for _, v := range verdicts {
			found = found || v.Check == c.check && v.Problem != ""
		}
		if !found {
			text, _ := json.Marshal(verdicts)
			t.Errorf("%s: not found by %q: %s", name, c.check, text)
		}
	}
}

// An engine that needs longer to start a container than the plugin was given is
// no fault of the plugin's.
func TestCheck_WaitsForASlowEngine(t *testing.T) {
	well := runHandlers(stdio.Handlers{Create: answerWell, Delete: answerWell})
	early := 0
	s := newTestedPlugin(func(ctx context.Context, stdin []byte) (conformance.RunResult, error) {
		if _, bounded := ctx.Deadline(); bounded && early < 1 {
			early++
			<-ctx.Done()
			return conformance.RunResult{}, ctx.Err()
		}
		return well(ctx, stdin)
	})
	if _, err := conformance.Check(t.Context(), s); err != nil || early != 1 {
		t.Errorf("%d early, %v", early, err)
	}
}

// Without a create that works, what needs one is skipped and not passed.
func TestCheck_SkipsWhatItCannotTell(t *testing.T) {
	s := newTestedPlugin(runHandlers(stdio.Handlers{Create: answerWell}))
	s.Create = nil
	verdicts, err := conformance.Check(t.Context(), s)
	if err != nil || verdicts[len(verdicts)-1].Skipped == "" {
		t.Errorf("%+v, %v", verdicts, err)
	}
}

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/nullops/nullops/controlplane/catalog"
)

func (s *server) TestScript(
	ctx context.Context, r TestScriptRequestObject,
) (TestScriptResponseObject, error) {
	request := catalog.ScriptRequest{Source: r.Body.Source,
		Action: string(ScriptTestRequestActionCreate)}
	if r.Body.Action != nil {
		request.Action = string(*r.Body.Action)
	}
	if r.Body.Clock != nil {
		request.Clock = *r.Body.Clock
	}
	if r.Body.TimeoutSeconds != nil {
		request.Timeout = time.Duration(*r.Body.TimeoutSeconds) * time.Second
	}
	if r.Body.Input != nil {
		// The two types have the same fields; only in ours they are all there.
		text, err := json.Marshal(r.Body.Input)
		if err == nil {
			err = json.Unmarshal(text, &request.Input)
		}
		if err != nil {
			return nil, err
		}
	}
	out, err := s.Catalog.TestScript(ctx, actorOf(ctx), request)
	if err != nil {
		return nil, err
	}
	return TestScript200JSONResponse(toScriptTest(out)), nil
}

func toScriptTest(t catalog.ScriptTest) ScriptTestResult {
	out := ScriptTestResult{Log: append([]string{}, t.Log...), Dropped: t.Cut, Removes: t.Removes,
		Seconds: t.Took.Seconds()}
	if p := t.Problem; p != nil {
		out.Problem = &ScriptProblem{Kind: ScriptProblemKind(cmp.Or(p.Kind, "crashed")),
			Message: p.Message, Line: ptrOrNil(p.Line), Column: ptrOrNil(p.Column)}
		return out
	}
	if t.Outputs != nil {
		out.Outputs = &t.Outputs
	}
	return out
}

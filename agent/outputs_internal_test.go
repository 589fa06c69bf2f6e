package agent

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/pipeline"
)

// Outputs that break the declared schema fail the step with a code of their
// own, name places and no values, and stay known for delete.
func TestAsDeclared_HoldsOutputsToTheSchema(t *testing.T) {
	component := &pipeline.Component{Outputs: map[string]any{
		"type": "object", "required": []any{"url"}, "additionalProperties": false,
		"properties": map[string]any{
			"url":   map[string]any{"type": "string", "pattern": "^http"},
			"port":  map[string]any{"type": "integer", "maximum": 65535},
			"token": map[string]any{"type": "string", "minLength": 20, "writeOnly": true},
		},
	}}
	for name, c := range map[string]struct {
		outputs map[string]any
		says    string
	}{
		"as declared":     {map[string]any{"url": "http://a", "port": 80.0}, ""},
		"a reference":     {map[string]any{"url": "http://${{ secrets.X }}"}, ""},
		"one is missing":  {map[string]any{"port": 80.0}, "outputs lacks url"},
		"another type":    {map[string]any{"url": "http://a", "port": "80"}, `port breaks "type"`},
		"out of range":    {map[string]any{"url": "http://a", "port": 65536.0}, `"maximum"`},
		"not declared":    {map[string]any{"url": "http://a", "more": 1.0}, `"additionalProperties"`},
		"a secret, short": {map[string]any{"url": "http://a", "token": "hunter22"}, `token breaks`},
		"no outputs":      {map[string]any{}, "outputs lacks url"},
	} {
		good := operationResult{
			ran:     true,
			outputs: c.outputs,
			result:  engine.Result{Outcome: engine.OutcomeOK},
		}
		got := validateOutputs(good, "create", component, pluginMismatch)
		wantCode := CodeOutputSchema
		if c.says == "" {
			wantCode = ""
		}
		if got.result.Code != wantCode || !strings.Contains(got.result.Message, c.says) ||
			strings.Contains(got.result.Message, "hunter22") || !got.ran || got.outputs == nil {
			t.Errorf("%s: %+v", name, got)
		}
		if (got.result.Outcome == engine.OutcomeOK) != (c.says == "") {
			t.Errorf("%s: outcome %v", name, got.result.Outcome)
		}
		again := validateOutputs(good, "delete", component, pluginMismatch)
		if again.result.Outcome != engine.OutcomeOK {
			t.Errorf("%s: delete is held to the outputs of create: %+v", name, again)
		}
	}
}

package wire

import (
	"errors"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// Ids become folders: none may lead out of the one it belongs in.
func TestDecodeCommand_RefusesIdsThatArePaths(t *testing.T) {
	for _, bad := range []string{"", "..", "../../etc", "a/b", ".hidden", "a\x00b", "é",
		string(make([]byte, maxID+1))} {
		for what, g := range map[string]Goal{
			"deployment": {Deployment: bad},
			"step": {Deployment: "d1", Pipeline: pipeline.Pipeline{
				Steps: []pipeline.Step{{Key: pipeline.StepKey(bad)}}}},
			"run": {Deployment: "d1", Run: bad},
		} {
			if what == "run" && bad == "" {
				continue // a goal that is gone has none
			}
			data, err := EncodeCommand(Goals{Goals: []Goal{g}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeCommand(data); !errors.Is(err, errInvalidGoal) {
				t.Errorf("%s %q: %v", what, bad, err)
			}
		}
	}
}

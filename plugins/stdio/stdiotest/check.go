package stdiotest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/stdio"
)

// Check creates, and holds the plugin's check to the truth: yes to what create
// made, no with a reason once gone took it away, and no secret shown either time.
func Check(t *testing.T, program string, create stdio.Request, gone func()) {
	t.Helper()
	create.Action = stdio.ActionCreate
	made := answerOf(t, program, create)
	if !made.Success {
		t.Fatalf("create: %s", made.Output)
	}
	ask := create
	ask.Action, ask.Outputs = stdio.ActionCheck, made.Outputs
	for range 2 { // a check changes nothing
		if said := answerOf(t, program, ask); !said.Success {
			t.Errorf("check says no to what create made: %s", said.Output)
		}
	}
	gone()
	if said := answerOf(t, program, ask); said.Success || said.Output == "" {
		t.Errorf("check says yes, or not why not, to what is gone: %+v", said)
	}
}

// answerOf runs the program once; what people read must hold no secret.
func answerOf(t *testing.T, program string, request stdio.Request) stdio.Response {
	t.Helper()
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	got := Run(t.Context(), t, program, data)
	answer, err := stdio.ParseResponse(got.Stdout)
	if err != nil {
		t.Fatalf("%s: %v\n%s", request.Action, err, got.Stderr)
	}
	hidden := []string{}
	for _, secret := range request.Secrets {
		hidden = append(hidden, secret)
	}
	for _, outputs := range []map[string]any{request.Outputs, answer.Outputs} {
		if password, ok := outputs["password"].(string); ok {
			hidden = append(hidden, password)
		}
	}
	for _, secret := range hidden {
		if strings.Contains(answer.Output+string(got.Stderr), secret) {
			t.Errorf("%s shows a secret: %s\n%s", request.Action, answer.Output, got.Stderr)
		}
	}
	return answer
}

package controlplane_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
)

func TestFailure_IsOneSentence(t *testing.T) {
	for want, f := range map[string]controlplane.Failure{
		"Step web failed: the service ended with exit code 1; its log says: no disk.": {
			Step: "web", Message: "the service ended with exit code 1; its log says: no disk"},
		"Step web failed: it says why.": {Step: "web", Message: "it says why.\n"},
		"Step web failed: really?":      {Step: "web", Message: "really?"},
		"It was not ready in time.":     {Message: "it was not ready in time"},
		"Éric stopped it…":              {Message: "éric stopped it…"},
	} {
		if got := f.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package controlplane_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// A message becomes a sentence, and what people named stays as they wrote it.
func TestSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"the pipeline has no steps; add a service, a job or a plugin": "The pipeline has no steps. " +
			"Add a service, a job or a plugin.",
		"mira holds deployment shop":                "mira holds deployment shop.",
		"node fra-01 is disabled":                   "Node fra-01 is disabled.",
		"${{ secrets.A }}: no value":                "${{ secrets.A }}: no value.",
		"300 bytes; 200 are the most":               "300 bytes. 200 are the most.",
		"it ends with no; use services.x":           "It ends with no. Use services.x.",
		"no node has room (a: 1 short; b: 2 short)": "No node has room (a: 1 short; b: 2 short).",
		"Already a sentence.":                       "Already a sentence.",
		"really?":                                   "really?",
		"":                                          "",
	} {
		if got := controlplane.Sentence(message); got != want {
			t.Errorf("%q became %q, wanted %q", message, got, want)
		}
	}
}

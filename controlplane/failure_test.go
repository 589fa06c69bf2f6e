package controlplane_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// promise: U-01
func TestFailure_IsOneSentence(t *testing.T) {
	for want, f := range map[string]controlplane.Failure{
		"Step web failed: the service ended with exit code 1; its log says: no disk.": {
			Step: "web", Message: "the service ended with exit code 1; its log says: no disk"},
		"Step web failed: it says why.": {Step: "web", Message: "it says why.\n"},
		"Step web failed: really?":      {Step: "web", Message: "really?"},
		"It was not ready in time.":     {Message: "it was not ready in time"},
		"Step web failed: no disk bye.": {Step: "web",
			Message: "\x1b[31mno\x1b[0m disk\n\tbye\r\n"},
		"Step web failed: " + strings.Repeat("é", 200) + "…": {Step: "web",
			Message: strings.Repeat("é", 900)},
		"Éric stopped it…": {Message: "éric stopped it…"},
	} {
		if got := f.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package cli

import (
	"encoding/json"
	"testing"

	"github.com/nullops/nullops/internal/documents"
	"github.com/nullops/nullops/internal/previoustest"
)

// What the previous release exported is read as the same documents.
func TestParseDocuments_OfThePreviousRelease(t *testing.T) {
	t.Parallel()
	docs, problems := documents.Parse("export.yaml", previoustest.Read(t, "export.yaml"))
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	bodies := map[string]any{}
	for _, d := range docs {
		bodies[d.String()] = d.Body
	}
	// Maps are encoded with their keys sorted.
	got, err := json.MarshalIndent(bodies, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if previoustest.IsRecording() {
		previoustest.Record(t, "documents.json.gz", got)
		return
	}
	// promise: R-03
	if want := previoustest.Read(t, "documents.json.gz"); string(got) != string(want) {
		t.Errorf("the documents are\n%s\nand the previous release read\n%s", got, want)
	}
}

package cli

import (
	"path/filepath"
	"testing"
)

// What the starter catalogue shows can be written to a file and applied.
func TestCatalogue_HasDocumentsThatApplyReads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../controlplane/starter/*/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%q: %v", files, err)
	}
	for _, file := range files {
		docs, err := readDocuments([]string{file}, nil)
		if err == nil {
			err = completeDocuments(docs)
		}
		if err != nil || docs[0].Kind != "service" || docs[0].Body["step"] == nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

package compose_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/nullops/nullops/pipeline/compose"
)

// The Compose file that the page shows is read as the page says.
func TestDocs_ComposeFileIsRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/compose.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(services:.*?)^```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no Compose file: this test looks in the wrong place")
	}
	for _, b := range blocks {
		r, err := compose.Read(t.Context(), b[1])
		if err != nil {
			t.Fatalf("%v:\n%s", err, b[1])
		}
		kinds := map[string]bool{}
		for _, s := range r.Pipeline.Steps {
			kinds[string(s.Key)] = s.Job != nil
		}
		if len(kinds) != 4 || !kinds["migrate"] || !kinds["seed"] || kinds["web"] || kinds["db"] {
			t.Errorf("jobs are %v", kinds)
		}
	}
}

package ingress_test

import (
	"os"
	"strings"
	"testing"
)

// Operators read how many there are to be, and where.
func TestDocs_OneIngress(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/ingress.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{"One ingress is enough", "a single process beside the control plane",
		"It needs no high availability"} {
		if !strings.Contains(words, want) { // promise: N-189
			t.Errorf("docs/ingress.md does not say %q", want)
		}
	}
}

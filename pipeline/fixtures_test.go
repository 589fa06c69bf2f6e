package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func readShop(t *testing.T) pipeline.Pipeline {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "shop.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readSettings() pipeline.Settings {
	return pipeline.Settings{
		Limits:  pipeline.Resources{CPU: 2, MemoryMiB: 1024},
		Secrets: []string{"db-password", "api-key"},
	}
}

// editShop changes one step of the shop.
func editShop(t *testing.T, key pipeline.StepKey, change func(*pipeline.Step)) pipeline.Pipeline {
	t.Helper()
	p := readShop(t)
	for i := range p.Steps {
		if p.Steps[i].Key == key {
			change(&p.Steps[i])
			return p
		}
	}
	t.Fatalf("no step %q", key)
	return p
}

func problemText(problems []pipeline.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(string(p.Step) + " | " + p.Field + " | " + p.Code + " | " + p.Message + "\n")
	}
	return b.String()
}

package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/plugins/packaging"
)

// cookedStack is one of the cookbook's, with a service that people open and what its page says.
type cookedStack struct{ name, opened, says string }

// cookedStacks are those that can run here. WordPress runs in `make test-apps`, and a model server
// needs a GPU.
func cookedStacks() []cookedStack {
	return []cookedStack{
		{"front-end-api", "front", "API_URL=http://api."},
		{"grpc", "catalog", "PRICES_ADDRESS="},
		{"keycloak", "orders", "/realms/master"},
		{"monorepo", "web", "RATES_URL="},
		{"nats", "intake", "NATS_URL=nats://"},
		{"search", "search", "OPENSEARCH_URL="},
		{"seeded-database", "web", "from the dump"},
		{"web-worker", "web", "from the worker"},
	}
}

// cookbook runs stacks of the cookbook from their files, each until its page answers, and removes
// them again. PostgreSQL is the real one; the other images are testdata/cookbook.
func cookbook(t *testing.T, w *world) {
	stacks := testpart.Pick(t, cookedStacks())
	if len(stacks) == 0 {
		return // All belong to the parts of other days, which is no reason to call the test skipped.
	}
	p := startProduct(t, w)
	p.applyShop(t)
	n := p.enrol(t, "cook", "qa")
	// Ten services on two cores, beside all other tests.
	p.admin.put(t, "/environments/qa", object{"domain": "localhost",
		"capacity": object{"busy_cpu_percent": 100, "cpu_overcommit": 4}}, nil)
	publishStandIn(t, w)
	for _, s := range stacks {
		t.Run(s.name, func(t *testing.T) {
			project := p.applyCooked(t, "../../deploy/examples/cookbook/"+s.name+".yaml")
			d := p.admin.deployReady(t, project, s.name, nil)
			eventually(t, "the page says "+s.says, func() string {
				a := p.visit(t, serviceURL(t, d, s.opened)+"/")
				if a.status != http.StatusOK || !strings.Contains(a.body, s.says) {
					return a.String()
				}
				return ""
			})
			p.admin.remove(t, d.Id)
			n.nothingLeft(t, d.Id)
		})
	}
}

// publishStandIn builds the image that stands in for most of the cookbook's.
func publishStandIn(t *testing.T, w *world) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cookbook")
	c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program,
		"./testdata/cookbook")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build the stand-in: %v\n%s", err, out)
	}
	publishImage(t, w.registry, "cookbook/standin", "test",
		v1.Config{Entrypoint: []string{"/cookbook"}},
		packaging.File{Path: "cookbook", From: program, Mode: 0o755},
		packaging.File{Path: "dump.sql", Data: []byte(
			"CREATE TABLE goods (name text);\nINSERT INTO goods VALUES ('from the dump');\n")})
}

// applyCooked applies a stack as its file is, but for where the images come from, and returns its
// project.
func (p *product) applyCooked(t *testing.T, file string) (project string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	args := []string{"apply", "-f", file}
	for documents := yaml.NewDecoder(f); ; {
		var d struct{ Kind, Name, Image string }
		if err := documents.Decode(&d); err != nil {
			break
		}
		image, tag := "cookbook/standin", "test"
		if d.Image == "library/postgres" {
			image, tag = "shop/postgres", `"15"`
		}
		switch d.Kind {
		case "project":
			project = d.Name
		case "service":
			for _, set := range []string{"registry=local", "image=" + image, "tag=" + tag} {
				args = append(args, "--set", "service/"+d.Name+"."+set)
			}
		}
	}
	p.command(t, 0, args...)
	return project
}

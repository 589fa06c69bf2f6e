package compose_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/pipeline/compose"
)

const shop = `services:
  db:
    image: postgres:15
    environment:
      POSTGRES_DB: shop
    volumes:
      - data:/var/lib/postgresql/data
    secrets: [db_password]
    healthcheck:
      test: ["CMD-SHELL", "pg_isready"]
      interval: 2s
      retries: 9
  web:
    image: registry.example.org:5000/shop/web:1.2
    command: ["serve", "--port", "8080"]
    depends_on:
      db: {condition: service_healthy}
    ports: ["80:8080"]
    expose: ["9000"]
    configs:
      - {source: page, target: /etc/page.conf}
    deploy:
      resources:
        limits: {cpus: "0.25", memory: 128M}
    privileged: true
    networks: [front]
networks:
  front: {}
volumes:
  data: {}
configs:
  page:
    content: title = shop
secrets:
  db_password:
    file: /etc/passwd
`

// What a compose file says becomes a pipeline that could be saved, and the rest
// is listed with its line.
func TestRead(t *testing.T) {
	got, err := compose.Read(t.Context(), []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	want := []pipeline.Step{
		{Key: "db", Service: &pipeline.ServiceStep{Name: "db",
			Env:     map[string]string{"POSTGRES_DB": "shop"},
			Volumes: []pipeline.Volume{{Name: "data", Path: "/var/lib/postgresql/data"}},
			Files: []pipeline.File{{Path: "/run/secrets/db_password",
				Content: "${{ secrets.DB_PASSWORD }}"}},
			Resources: pipeline.Resources{CPU: 0.5, MemoryMiB: 256},
			Ready: &pipeline.Readiness{Command: []string{"/bin/sh", "-c", "pg_isready"},
				IntervalSeconds: 2, Retries: 9}}},
		{Key: "web", Needs: []pipeline.StepKey{"db"}, Service: &pipeline.ServiceStep{Name: "web",
			Command: []string{"serve", "--port", "8080"},
			Ports: []pipeline.Port{{Name: "http", Port: 8080, Expose: true},
				{Name: "p9000", Port: 9000}},
			Files:     []pipeline.File{{Path: "/etc/page.conf", Content: "title = shop"}},
			Resources: pipeline.Resources{CPU: 0.25, MemoryMiB: 128},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}},
	}
	if diff := cmp.Diff(want, got.Pipeline.Steps); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]compose.Service{
		{Name: "db", Registry: "docker.io", Repository: "library/postgres", Tag: "15"},
		{Name: "web", Registry: "registry.example.org:5000", Repository: "shop/web", Tag: "1.2"},
	}, got.Services); diff != "" {
		t.Error(diff)
	}
	for i, s := range got.Services {
		// As the catalogue would, which import fills.
		got.Pipeline.Steps[i].Service.Image = &pipeline.Image{Registry: s.Registry,
			Repository: s.Repository, Tag: s.Tag, TagMode: pipeline.Selectable}
	}
	if found := pipeline.Validate(got.Pipeline, pipeline.Settings{Secrets: got.Secrets,
		Limits: pipeline.Resources{CPU: 8, MemoryMiB: 8192}}); len(found) > 0 {
		t.Errorf("it could not be saved: %+v", found)
	}
	said := map[string]bool{}
	for _, n := range got.Notes {
		said[fmt.Sprintf("%d %s %s", n.Line, n.Service, strings.SplitN(n.Message, ":", 2)[0])] = true
	}
	for _, want := range []string{"25 web privileged", "26 web networks", "8 db secrets",
		"2 db deploy"} {
		if !said[want] {
			t.Errorf("no note %q: %v", want, got.Notes)
		}
	}
}

// A file of a stranger opens nothing on this machine and sees no variable.
func TestRead_OpensNothing(t *testing.T) {
	t.Setenv("CANARY", "canary-variable")
	hostile := `include: [/etc/passwd]
services:
  a:
    image: shop/a:1
    env_file: /etc/passwd
    environment: {X: "${CANARY:-none}", CANARY: }
  b:
    extends: {file: /etc/passwd, service: root}
    image: shop/b:1
  c:
    build: /
    label_file: /etc/passwd
configs:
  x: {file: /etc/passwd}
`
	got, err := compose.Read(t.Context(), []byte(hostile))
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprintf("%+v", got); strings.Contains(all, "root:") ||
		strings.Contains(all, "canary-variable") {
		t.Errorf("it was read: %s", all)
	}
	lines := map[int]bool{}
	for _, n := range got.Notes {
		lines[n.Line] = true
	}
	for _, line := range []int{1, 5, 6, 8, 11, 12} {
		if !lines[line] {
			t.Errorf("line %d is not listed: %+v", line, got.Notes)
		}
	}
	for _, bad := range []string{"", "[]", "services: 7", "services: {a: {image: 7}}", "a: *b",
		"services: {a: {build: .}}"} {
		if _, err := compose.Read(t.Context(), []byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// What is written is read again as the same steps.
func TestWrite_RoundTrip(t *testing.T) {
	first, err := compose.Read(t.Context(), []byte(strings.NewReplacer(
		"    secrets: [db_password]\n", "", "secrets:\n  db_password:\n    file: /etc/passwd\n", "",
		"      interval: 2s\n      retries: 9\n", "").Replace(shop)))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range first.Services {
		first.Pipeline.Steps[i].Service.Image = &pipeline.Image{Registry: s.Registry,
			Repository: s.Repository, Tag: s.Tag}
	}
	text, err := compose.Write("shop", first.Pipeline)
	if err != nil {
		t.Fatal(err)
	}
	again, err := compose.Read(t.Context(), []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i := range first.Pipeline.Steps {
		first.Pipeline.Steps[i].Service.Image = nil
		for j := range first.Pipeline.Steps[i].Service.Volumes {
			v := &first.Pipeline.Steps[i].Service.Volumes[j]
			v.Name = string(first.Pipeline.Steps[i].Key) + "-" + v.Name
		}
	}
	if diff := cmp.Diff(first.Pipeline, again.Pipeline); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	if diff := cmp.Diff(first.Services, again.Services); diff != "" {
		t.Error(diff)
	}
}

// How a process is started and ended is in the file that is written.
func TestWrite_KeepsTheProcess(t *testing.T) {
	first := pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{{Key: "a",
		Service: &pipeline.ServiceStep{Name: "a", Image: &pipeline.Image{Registry: "docker.io",
			Repository: "library/a", Tag: "1"}, Entrypoint: []string{"/init", "x"},
			Command: []string{"run"}, Env: map[string]string{"app.name-x": "$y"}, User: "1000:app",
			Init: true, StopSignal: "SIGINT", StopGraceSeconds: 90, ReadOnly: true,
			Tmpfs: []pipeline.Tmpfs{{Path: "/run"}, {Path: "/tmp", SizeMiB: 64}},
			ExtraHosts: []pipeline.ExtraHost{{Name: "mail", Address: "192.0.2.1"},
				{Name: "mail", Address: "2001:db8::1"}},
			Volumes:   []pipeline.Volume{{Name: "data", Path: "/data", ReadOnly: true}},
			Resources: pipeline.Resources{CPU: 1, MemoryMiB: 64}}}}}
	text, err := compose.Write("shop", first)
	if err != nil {
		t.Fatal(err)
	}
	again := readFile(t, text).Pipeline
	again.Steps[0].Service.Image = first.Steps[0].Service.Image
	again.Steps[0].Service.Volumes[0].Name = "data"
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}

// Files as people have them, our own installation among them, become pipelines
// that can be saved. What each one becomes, and what is listed as left out with
// its line, is in the golden file beside it.
func TestRead_FilesAsPeopleHaveThem(t *testing.T) {
	for golden, path := range map[string]string{"blog": "testdata/blog.yaml",
		"search": "testdata/search.yaml", "nullops": "../../deploy/compose.yaml"} {
		t.Run(golden, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := compose.Read(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile("testdata/" + golden + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			// promise: I-16
			if diff := cmp.Diff(string(want), summarize(t, got)); diff != "" {
				t.Error(diff)
			}
			for i, s := range got.Services {
				image := &pipeline.Image{Registry: s.Registry,
					Repository: s.Repository, Tag: s.Tag, TagMode: pipeline.Selectable}
				if step := got.Pipeline.Steps[i]; step.Job != nil {
					step.Job.Image = image
				} else {
					step.Service.Image = image
				}
			}
			// promise: I-16
			if found := pipeline.Validate(got.Pipeline, pipeline.Settings{Secrets: got.Secrets,
				Limits: pipeline.Resources{CPU: 8, MemoryMiB: 8192}}); len(found) > 0 {
				t.Errorf("it could not be saved: %+v", found)
			}
		})
	}
}

// summarize returns all that a file became.
func summarize(t *testing.T, got compose.Result) string {
	t.Helper()
	var b strings.Builder
	for i, s := range got.Pipeline.Steps {
		image := got.Services[i]
		var body any = s.Service
		if s.Job != nil {
			body = map[string]any{"job": s.Job}
		}
		text, err := json.MarshalIndent(body, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s needs %v runs %s/%s:%s\n%s\n", s.Key, s.Needs, image.Registry,
			image.Repository, image.Tag, text)
	}
	fmt.Fprintf(&b, "secrets %v\n", got.Secrets)
	for _, n := range got.Notes {
		fmt.Fprintf(&b, "line %d, %s: %s\n", n.Line, n.Service, n.Message)
	}
	return b.String()
}

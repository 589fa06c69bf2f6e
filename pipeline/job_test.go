package pipeline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
)

func migrationPipeline(t *testing.T) pipeline.Pipeline {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "job.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEncode_JobIsCanonical(t *testing.T) {
	if got := pipeline.Validate(migrationPipeline(t), readSettings()); len(got) != 0 {
		t.Fatalf("problems:\n%s", problemText(got))
	}
	encoded, err := pipeline.Encode(migrationPipeline(t))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "job.canonical.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded, bytes.TrimSpace(golden)) {
		t.Errorf("the canonical form changed; stored versions would lose their digest:\n%s", encoded)
	}
}

// An older reader refuses format 2, and must be able to read everything else.
func TestEncode_SaysTheOldestFormatThatHoldsThePipeline(t *testing.T) {
	for want, p := range map[string]pipeline.Pipeline{
		`{"format":1,`: readShop(t), `{"format":2,`: migrationPipeline(t),
	} {
		p.Format = 0
		encoded, err := pipeline.Encode(p)
		if err != nil || !strings.HasPrefix(string(encoded), want) {
			t.Errorf("%.20s: %v, want %s", encoded, err, want)
		}
	}
	// What a person wrote by hand may say any known format.
	p, err := pipeline.Decode([]byte(`{"format":1,"steps":[{"key":"a","job":{"name":"a"}}]}`))
	if err != nil || p.Format != 2 {
		t.Errorf("format %d: %v", p.Format, err)
	}
}

func TestValidate_Job(t *testing.T) {
	type step = pipeline.Step
	for _, m := range []mistake{
		{"ready", "migrate", func(s *step) {
			s.Job.Ready = &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 1}}
		}, "job.ready", "job", "make the step a service"},
		{"restart", "migrate", func(s *step) { s.Job.Restart = pipeline.RestartNever },
			"job.restart", "job", "remove restart"},
		{"url", "migrate", func(s *step) { s.Job.Ports[0].Expose = true },
			"job.ports[0].expose", "job", "remove expose"},
		{"timeout", "migrate", func(s *step) { s.Job.TimeoutSeconds = 86401 },
			"job.timeout_seconds", "range", "give 1 to 86400, or 0 for the usual 600"},
		{"results are relative", "migrate", func(s *step) { s.Job.Tests.JUnit = "results/*.xml" },
			"job.tests.junit", "path", "must be absolute"},
		{"results are no pattern", "migrate", func(s *step) { s.Job.Tests.JUnit = "/results/[.xml" },
			"job.tests.junit", "pattern", "not a pattern"},
		{"results in any folder", "migrate", func(s *step) { s.Job.Tests.JUnit = "/*/a.xml" },
			"job.tests.junit", "folder", "without * ? ["},
		{"results in all of the container", "migrate", func(s *step) { s.Job.Tests.JUnit = "/*.xml" },
			"job.tests.junit", "folder", "name one below /"},
		{"failed tests", "migrate", func(s *step) { s.Job.Tests.Failed = "ignore" },
			"job.tests.failed", "failed", "use fail or mark"},
		{"two kinds", "migrate", func(s *step) { s.Service = &s.Job.ServiceStep },
			"kind", "kind", "a service and a job at once"},
		{"secret in a command", "migrate", func(s *step) {
			s.Job.Command = []string{"${{ secrets.api-key }}"}
		}, "job.command[0]", "secret", "can be read on the node"},
		{"unknown secret", "migrate", func(s *step) { s.Job.Env["X"] = "${{ secrets.nix }}" },
			"job.env.X", "unknown_secret", `no secret "nix"`},
		{"no name", "migrate", func(s *step) { s.Job.Name = "" }, "job.name", "required", "catalogue"},
		{"no image", "migrate", func(s *step) { s.Job.Image = nil }, "job.image", "missing_image", ""},
		{"no limit", "migrate", func(s *step) { s.Job.Resources.CPU = 0 },
			"job.resources.cpu", "required", "each job needs a limit"},
		{"sum", "migrate", func(s *step) { s.Job.Resources.MemoryMiB = 4096 },
			"resources.memory_mib", "over_limit", "4352 MiB"},
		{"shared volume", "migrate", func(s *step) { s.Job.Volumes[0].Stays = true },
			"job.volumes[0].stays", "shared", `"db" says otherwise`},
		{"its address", "db", func(s *step) {
			s.Service.Env = map[string]string{"X": "${{ services.migrate.host }}"}
		}, "service.env.X", "job", "has ended when another step runs"},
		{"its outputs", "db", func(s *step) {
			s.Service.Env = map[string]string{"X": "${{ steps.migrate.outputs.x }}"}
		}, "service.env.X", "unknown_output", "is a job, which has no outputs"},
	} {
		t.Run(m.name, func(t *testing.T) {
			p := migrationPipeline(t)
			for i := range p.Steps {
				if p.Steps[i].Key == m.step {
					m.change(&p.Steps[i])
				}
			}
			got := pipeline.Validate(p, readSettings())
			for _, found := range got {
				if found.Field == m.field && found.Code == m.code &&
					strings.Contains(found.Message, m.words) {
					return
				}
			}
			t.Errorf("want %s %s %q, got:\n%s", m.field, m.code, m.words, problemText(got))
		})
	}
}

// A job's container is treated like a service's: its tag is chosen, its secrets are found,
// and a saved version shows what people wrote.
func TestJob_IsTreatedLikeAService(t *testing.T) {
	p := migrationPipeline(t)
	before, err := pipeline.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := pipeline.SecretNames(p); !cmp.Equal(got, []string{"api-key", "db-password"}) {
		t.Errorf("secrets: %v", got)
	}
	_, problems := pipeline.WithVersions(p, map[pipeline.StepKey]pipeline.Version{
		"db": {Tag: "15", Digest: digest}})
	if !strings.Contains(problemText(problems), `choose a version for service "migrate"`) {
		t.Errorf("without a tag:\n%s", problemText(problems))
	}
	chosen, problems := pipeline.WithVersions(p, map[pipeline.StepKey]pipeline.Version{
		"db": {Tag: "15", Digest: digest}, "migrate": {Tag: "v2", Digest: digest}})
	s, _ := chosen.Step("migrate")
	if len(problems) != 0 || s.Job.Image.Tag != "v2" || s.Job.Image.Digest != digest {
		t.Errorf("%+v\n%s", s.Job.Image, problemText(problems))
	}
	if s, _ := pipeline.AsWritten(p).Step("migrate"); s.Container().Image != nil || s.Service != nil {
		t.Errorf("as written: %+v", s)
	}
	if branch := pipeline.Branch(p, "migrate"); len(branch.Steps) != 2 {
		t.Errorf("the branch of migrate: %+v", branch.Steps)
	}
	if after, err := pipeline.Encode(p); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the pipeline itself was changed: %v", err)
	}
	d, err := pipeline.Compare(p, chosen)
	if err != nil || len(d.Changed) != 2 ||
		!strings.HasPrefix(d.Changed[1].Fields[0].Path, "job.image.") {
		t.Errorf("%+v: %v", d, err)
	}
	if j := s.Job; j.Seconds() != 120 || (&pipeline.JobStep{}).Seconds() != 600 {
		t.Errorf("%d seconds", j.Seconds())
	}
}

// A job has ended when the next step starts, so its resources count beside what runs then.
func TestPeakResources(t *testing.T) {
	step := func(key, needs pipeline.StepKey, job bool, memory int) pipeline.Step {
		s := pipeline.Step{Key: key}
		if needs != "" {
			s.Needs = []pipeline.StepKey{needs}
		}
		c := pipeline.ServiceStep{Resources: pipeline.Resources{CPU: 1, MemoryMiB: memory}}
		if s.Service = &c; job {
			s.Service, s.Job = nil, &pipeline.JobStep{ServiceStep: c}
		}
		return s
	}
	p := pipeline.Pipeline{Steps: []pipeline.Step{
		step("web", "seed", false, 50), step("db", "", false, 100),
		step("migrate", "db", true, 30), step("seed", "migrate", true, 40),
	}}
	if got := pipeline.PeakResources(p); got != (pipeline.Resources{CPU: 2, MemoryMiB: 150}) {
		t.Errorf("small jobs: %+v", got)
	}
	p.Steps[2].Job.Resources.MemoryMiB = 400
	if got := pipeline.PeakResources(p); got != (pipeline.Resources{CPU: 2, MemoryMiB: 500}) {
		t.Errorf("a large job: %+v", got)
	}
	p.Steps[1].Needs = []pipeline.StepKey{"web"}
	if got := pipeline.PeakResources(p); got.MemoryMiB != 590 {
		t.Errorf("in a circle: %+v", got)
	}
}

package compose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/pipeline/compose"
)

// notesOf are the notes of one service.
func notesOf(r compose.Result, service string) string {
	var all []string
	for _, n := range r.Notes {
		if n.Service == service {
			all = append(all, fmt.Sprintf("%d %s", n.Line, n.Message))
		}
	}
	return strings.Join(all, "\n")
}

// What others wait for until it has completed is a job step, and the edge needs no note, since it
// means the same. Everything else about its container is carried over.
func TestRead_MakesJobsOfWhatIsWaitedFor(t *testing.T) {
	got := readFile(t, `services:
  migrate:
    image: shop/migrate:3
    command: [up]
    user: "1000"
    environment: {DB: shop}
    volumes: [data:/data]
    cpus: 0.5
    mem_limit: 64m
  app: {image: shop/app:1, depends_on: {migrate: {condition: service_completed_successfully}}}
volumes: {data: {}}
`)
	want := pipeline.Step{Key: "migrate", Job: &pipeline.JobStep{ServiceStep: pipeline.ServiceStep{
		Name: "migrate", Command: []string{"up"}, User: "1000", Env: map[string]string{"DB": "shop"},
		Volumes:   []pipeline.Volume{{Name: "data", Path: "/data"}},
		Resources: pipeline.Resources{CPU: 0.5, MemoryMiB: 64}}}}
	if diff := cmp.Diff(want, got.Pipeline.Steps[1]); diff != "" {
		t.Error(diff)
	}
	if app := got.Pipeline.Steps[0]; len(app.Needs) != 1 || app.Needs[0] != "migrate" {
		t.Errorf("app needs %v", app.Needs)
	}
	if notes := notesOf(got, "app"); strings.Contains(notes, "depends_on") {
		t.Errorf("the edge means the same, and there is a note: %s", notes)
	}
	if notes := notesOf(got, "migrate"); notes != "2 it becomes a job step, since app waits for its "+
		"end; it may take 600 seconds" {
		t.Error(notes)
	}
}

// A service that is never restarted is a one-shot, unless something shows that it keeps running.
func TestRead_MakesJobsOfOneShots(t *testing.T) {
	const waits = "  web: {image: w, restart: always, depends_on: {a: {condition: "
	for name, c := range map[string]struct {
		fields, others string
		isJob          bool
		note           string
	}{
		"restart no":     {`restart: "no"`, "", true, "4 restart: it becomes a job step"},
		"no policy":      {`command: [x]`, "", false, "2 restart: it is restarted whenever"},
		"deploy":         {"deploy: {restart_policy: {condition: none}}", "", true, "4 deploy: it bec"},
		"swarm job":      {"deploy: {mode: replicated-job}", "", true, "4 deploy: it becomes a job"},
		"published port": {`restart: "no"; ports: ["80:80"]`, "", false, ""},
		"exposed port":   {`restart: "no"; expose: ["80"]`, "", false, ""},
		"health check":   {`restart: "no"; healthcheck: {test: [CMD, x]}`, "", false, ""},
		"health check is off": {`restart: "no"; healthcheck: {disable: true}`, "", true,
			"5 healthcheck: it is left out"},
		"started": {`restart: "no"`, waits + "service_started}}}", false,
			"4 restart: it stays a service and becomes no job step, since web waits until it has started"},
		"short form": {`restart: "no"`, "  web: {image: w, depends_on: [a]}", false,
			"4 restart: it stays a service"},
		"healthy": {`restart: "no"`, waits + "service_healthy}}}", false, "4 restart: it stays"},
		"named as a host": {`restart: "no"`, "  web: {image: w, environment: {DB_URL: 'x://a:5432/y'}}",
			false, "since web names it as a host"},
		"named as something else": {`restart: "no"`, "  web: {image: w, environment: {NAME: a}}", true,
			"4 restart: it becomes a job step"},
		"deploy wins": {`restart: "no"; deploy: {restart_policy: {condition: any}}`, "", false,
			"4 restart: no does not count"},
		"left out": {`restart: "no"; scale: 0`, "", false, "5 scale: replicas is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readFile(t, "services:\n  a:\n    image: x\n    "+
				strings.ReplaceAll(c.fields, "; ", "\n    ")+"\n"+c.others+"\n  z: {image: z}\n")
			for _, s := range got.Pipeline.Steps {
				if s.Key == "a" && (s.Job != nil) != c.isJob {
					t.Errorf("a job: %t", s.Job != nil)
				}
			}
			if notes := notesOf(got, "a"); !strings.Contains(notes, c.note) {
				t.Errorf("no note %q:\n%s", c.note, notes)
			}
		})
	}
}

// What a job cannot have is listed with its line.
func TestRead_ListsWhatJobsCannotHave(t *testing.T) {
	got := readFile(t, `services:
  a:
    image: x
    ports: ["8080:80"]
    expose: ["90"]
    healthcheck: {test: [CMD, x]}
    restart: on-failure
  b:
    image: x
    restart: always
    deploy: {restart_policy: {condition: any, max_attempts: 3}}
  last:
    image: x
    depends_on:
      a: {condition: service_completed_successfully}
      b: {condition: service_completed_successfully}
  other: {image: x, depends_on: {a: {condition: service_healthy}, b: {condition: service_started}}}
`)
	for _, s := range got.Pipeline.Steps[:2] {
		j := s.Job
		if j == nil || len(j.Ports) > 0 || j.Ready != nil || j.Restart != "" {
			t.Errorf("%s: %+v", s.Key, j)
		}
	}
	for service, want := range map[string][]string{
		"a": {"4 ports: 80 is left out", "5 expose: 90 is left out", "6 healthcheck: it is left out",
			"7 restart: on-failure is not carried over"},
		"b": {"10 restart: always does not count", "11 deploy: always is not carried over",
			"11 deploy.restart_policy.max_attempts: this is not carried over"},
		"other": {"depends_on: it waits until a, a job step, has ended with code 0, and not for " +
			"service_healthy", "it waits until b, a job step, has ended with code 0, and not for " +
			"service_started"},
	} {
		for _, note := range want {
			if notes := notesOf(got, service); !strings.Contains(notes, note) {
				t.Errorf("no note %q of %s:\n%s", note, service, notes)
			}
		}
	}
}

// Jobs, and what waits for them, are in the file that is written.
func TestWrite_KeepsJobs(t *testing.T) {
	image := &pipeline.Image{Registry: "docker.io", Repository: "library/x", Tag: "1"}
	container := func(name string) pipeline.ServiceStep {
		return pipeline.ServiceStep{Name: name, Image: image, Env: map[string]string{"A": "b"},
			Volumes:   []pipeline.Volume{{Name: "data", Path: "/data", Shared: "data"}},
			Resources: pipeline.Resources{CPU: 1, MemoryMiB: 64}}
	}
	web, db := container("web"), container("db")
	first := pipeline.Pipeline{Format: 2, Steps: []pipeline.Step{
		{Key: "db", Service: &db},
		{Key: "migrate", Needs: []pipeline.StepKey{"db"},
			Job: &pipeline.JobStep{ServiceStep: container("migrate")}},
		{Key: "web", Needs: []pipeline.StepKey{"db", "migrate"}, Service: &web},
	}}
	text, err := compose.Write("shop", first)
	if err != nil {
		t.Fatal(err)
	}
	again := readFile(t, text).Pipeline
	for i := range again.Steps {
		again.Steps[i].Container().Image = image
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	first.Steps[1].Job.TimeoutSeconds = 5
	if text, err = compose.Write("shop", first); err != nil ||
		!strings.Contains(text, "# The timeout and the tests of the job migrate are not part") {
		t.Errorf("the timeout is lost in silence: %v\n%s", err, text)
	}
}

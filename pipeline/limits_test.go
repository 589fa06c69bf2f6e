package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// checkOf changes the readiness check of a service to one over HTTP.
func checkOf(h pipeline.HTTPProbe, change func(*pipeline.Readiness)) func(*pipeline.Step) {
	return func(s *pipeline.Step) {
		r := &pipeline.Readiness{HTTP: &h}
		if change != nil {
			change(r)
		}
		s.Service.Ready = r
	}
}

// The last value that is accepted is accepted, and the next is not.
func TestValidate_ReadinessLimits(t *testing.T) {
	ok := pipeline.HTTPProbe{Port: 8080, Path: "/"}
	status := func(code int) pipeline.HTTPProbe {
		return pipeline.HTTPProbe{Port: 8080, Path: "/", Status: code}
	}
	for _, c := range []struct {
		change func(*pipeline.Step)
		field  string // empty for what is accepted
	}{
		{checkOf(ok, nil), ""},
		{checkOf(status(99), nil), "service.ready.http.status"},
		{checkOf(status(100), nil), ""},
		{checkOf(status(599), nil), ""},
		{checkOf(status(600), nil), "service.ready.http.status"},
		{checkOf(pipeline.HTTPProbe{Port: 0, Path: "/"}, nil), "service.ready.http.port"},
		{checkOf(pipeline.HTTPProbe{Port: 1, Path: "/"}, nil), ""},
		{checkOf(pipeline.HTTPProbe{Port: 65535, Path: "/"}, nil), ""},
		{checkOf(pipeline.HTTPProbe{Port: 65536, Path: "/"}, nil), "service.ready.http.port"},
		{checkOf(pipeline.HTTPProbe{Port: 1, Path: "ready"}, nil), "service.ready.http.path"},
		{checkOf(pipeline.HTTPProbe{Port: 1, Path: "/a b"}, nil), "service.ready.http.path"},
		{checkOf(pipeline.HTTPProbe{Port: 1, Path: "/a\r"}, nil), "service.ready.http.path"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.IntervalSeconds = -1 }),
			"service.ready.interval_seconds"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.TimeoutSeconds = -1 }),
			"service.ready.timeout_seconds"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.StartPeriodSeconds = -1 }),
			"service.ready.start_period_seconds"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.Retries = -1 }), "service.ready.retries"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.Retries = 10000 }), ""},
		{checkOf(ok, func(r *pipeline.Readiness) { r.Retries = 10001 }), "service.ready.retries"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.Image = true }), "service.ready"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.HTTP = nil }), "service.ready"},
		{checkOf(ok, func(r *pipeline.Readiness) { r.HTTP, r.Command = nil, []string{""} }),
			"service.ready.command[0]"},
	} {
		got := pipeline.Validate(editShop(t, "web", c.change), readSettings())
		switch {
		case c.field == "" && len(got) > 0:
			t.Errorf("refused:\n%s", problemText(got))
		case c.field != "" && (len(got) != 1 || got[0].Field != c.field):
			t.Errorf("want a problem of %s, got:\n%s", c.field, problemText(got))
		}
	}
}

// Two steps with one key are a problem of the second one, and of it alone.
func TestValidate_RefusesTwoStepsWithOneKey(t *testing.T) {
	p := readShop(t)
	p.Steps = append(p.Steps, p.Steps[0])
	got := pipeline.Validate(p, readSettings())
	found := 0
	for _, problem := range got {
		if problem.Code == "duplicate" && problem.Field == "key" && problem.Step == p.Steps[0].Key &&
			strings.Contains(problem.Message, "rename one") {
			found++
		}
	}
	if found != 1 {
		t.Errorf("got:\n%s", problemText(got))
	}
}

// Fifty scripts may be in a pipeline, and not one more.
func TestValidate_LimitsTheNumberOfScripts(t *testing.T) {
	p := newScriptPipeline(t)
	script := p.Steps[2].Script
	add := func(n int) (all pipeline.Pipeline) {
		all = p
		for i := range n {
			key := pipeline.StepKey(fmt.Sprintf("more-%d", i))
			all.Steps = append(all.Steps,
				pipeline.Step{Key: key, Needs: []pipeline.StepKey{"db"}, Script: script})
		}
		return all
	}
	for n, want := range map[int]bool{pipeline.MaxScripts - 1: false, pipeline.MaxScripts: true} {
		refused := false
		for _, problem := range pipeline.Validate(add(n), readSettings()) {
			refused = refused ||
				problem.Code == "too_many" && strings.Contains(problem.Message, "51 scripts")
		}
		if refused != want {
			t.Errorf("%d scripts: refused is %v", n+1, refused)
		}
	}
}

// What replaced references made of arguments and variables is held to the limits of Linux.
func TestCheckExecSize_StopsAtTheLimits(t *testing.T) {
	const one, all = 128<<10 - 1, 2<<20 - 128<<10
	fill := func(total int) (args []string) {
		for ; total > one; total -= one {
			args = append(args, strings.Repeat("x", one))
		}
		return append(args, strings.Repeat("x", total))
	}
	text := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		args  []string
		env   map[string]string
		words string // empty for what is accepted
	}{
		"nothing":         {nil, nil, ""},
		"one argument":    {[]string{text(one)}, nil, ""},
		"a long argument": {[]string{"a", text(one + 1)}, nil, "argument 2 has 131072 bytes"},
		"one variable":    {nil, map[string]string{"NAME": text(one - 5)}, ""},
		"a long variable": {nil, map[string]string{"NAME": text(one - 4)},
			"env.NAME has 131072 bytes"},
		"NUL in an argument": {[]string{"a\x00"}, nil, "argument 1 holds a NUL"},
		"NUL in a variable":  {nil, map[string]string{"N": "\x00"}, "env.N holds a NUL"},
		"all together":       {fill(all - 4), map[string]string{"AB": "cd"}, ""},
		"too much together": {fill(all - 3), map[string]string{"AB": "cd"},
			"1966081 bytes together"},
	} {
		err := pipeline.CheckExecSize(c.args, c.env)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A document of the greatest size is read.
func TestCheckJSON_TakesTheGreatestSize(t *testing.T) {
	text := strings.Repeat(" ", pipeline.MaxEncoded-2) + "{}"
	if err := pipeline.CheckJSON([]byte(text)); err != nil {
		t.Error(err)
	}
	if err := pipeline.CheckJSON([]byte(" " + text)); err == nil {
		t.Error("one byte more was read")
	}
}

// What runs at one time may use exactly what the project allows; the sentence speaks of jobs
// where there are some.
func TestValidate_TotalsStopAtTheProjectsLimits(t *testing.T) {
	resources := pipeline.Resources{CPU: 0.1, MemoryMiB: 100}
	for _, c := range []struct {
		p     pipeline.Pipeline
		words string
	}{
		{readShop(t), "the services ask for "}, {migrationPipeline(t), "the services and jobs ask for "},
	} {
		for _, s := range c.p.Steps {
			if container := s.Container(); container != nil {
				container.Resources = resources
			}
		}
		peak := pipeline.PeakResources(c.p)
		settings := readSettings()
		settings.Limits = peak
		if got := pipeline.Validate(c.p, settings); len(got) != 0 {
			t.Errorf("exactly what is allowed:\n%s", problemText(got))
		}
		settings.Limits.CPU -= 0.01
		settings.Limits.MemoryMiB--
		got := pipeline.Validate(c.p, settings)
		if len(got) != 2 || got[0].Field != "resources.cpu" || got[1].Field != "resources.memory_mib" ||
			!strings.HasPrefix(got[0].Message, c.words) || !strings.HasPrefix(got[1].Message, c.words) {
			t.Errorf("more than is allowed:\n%s", problemText(got))
		}
	}
}

package cli

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// Only what differs is a row; each step has both of its times.
func TestPrintComparison_ShowsWhatDiffers(t *testing.T) {
	seconds := func(s float64) *float64 { return &s }
	failed := apiclient.StepResultFailed
	side := func(name string, version int) apiclient.ComparedRun {
		return apiclient.ComparedRun{Deployment: apiclient.DeploymentRef{Name: name},
			Environment: "qa", Number: version, PipelineVersion: version}
	}
	good := side("checkout", 1)
	c := apiclient.RunComparison{Run: side("cart", 2), Good: &good,
		Versions: []apiclient.ComparedVersion{{Step: "db", Same: true}, {Step: "web",
			Good: &apiclient.ServiceVersion{Tag: "1.0"}, Run: &apiclient.ServiceVersion{Tag: "1.1"}}},
		Steps: []apiclient.ComparedStep{{Step: "web",
			Good: &apiclient.ComparedSpan{Status: "done", Seconds: seconds(3)},
			Run:  &apiclient.ComparedSpan{Status: "undone", Result: &failed, Seconds: seconds(8.5)}},
			{Step: "new", Run: &apiclient.ComparedSpan{Status: "skipped"}}},
		Fields: []apiclient.ComparedField{{Path: "steps.web.service.env.A", Run: "1"}}}
	var b strings.Builder
	if err := printComparison(&b, c); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"cart, run 2, beside the last good one: checkout in qa, run 1",
		"pipeline v1 v2", "version of web 1.0 1.1", `steps.web.service.env.A - "1"`,
		"web 3.0 s failed, 8.5 s +5.5 s", "new - skipped"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if strings.Contains(got, "version of db") {
		t.Errorf("what is the same is a row of\n%s", b.String())
	}
	b.Reset()
	c.Good = nil
	if err := printComparison(&b, c); err != nil || !strings.Contains(b.String(), "no good run") {
		t.Errorf("without a good run: %q, %v", b.String(), err)
	}
}

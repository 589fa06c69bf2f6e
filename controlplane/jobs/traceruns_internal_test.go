package jobs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// A run's spans are its wait for room, its steps, each with its tries, its wait for a person, and
// its undo; each lies where and when it happened.
func TestSpansOfRun(t *testing.T) {
	begin := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) *time.Time {
		then := begin.Add(time.Duration(seconds) * time.Second)
		return &then
	}
	part := func(kind string, from, to int, failed bool) controlplane.StepPart {
		return controlplane.StepPart{Kind: kind, From: *at(from), To: *at(to), Failed: failed}
	}
	r := postgres.TracedRun{Name: "cart", QueuedAt: begin, StartedAt: at(5)}
	r.ID, r.CreatedAt, r.EndedAt = "r1", begin, at(60)
	r.Failure = &controlplane.Failure{Code: "probe_failed"}
	load := postgres.TracedStep{AskedAt: at(6), AnsweredAt: at(20)}
	load.Key, load.StartedAt, load.EndedAt = "load", at(6), at(21)
	web := postgres.TracedStep{}
	web.Key, web.StartedAt, web.EndedAt = "web", at(21), at(50)
	web.Result, web.Code = pipeline.StepFailed, "probe_failed"
	web.Parts = []controlplane.StepPart{part("pull", 21, 25, true), part("pull", 27, 30, false),
		part("ready", 31, 50, true), part("undo", 51, 58, false)}
	r.Steps = []postgres.TracedStep{load, web, {StepRow: controlplane.StepRow{Key: "never"}}}
	var got []string
	for _, s := range spansOfRun(r) {
		got = append(got, fmt.Sprintf("%d %s %g-%g %s", s.Under, s.Name, s.From.Sub(begin).Seconds(),
			s.To.Sub(begin).Seconds(), s.Failed))
	}
	want := "0 run 0-60 probe_failed\n0 wait for room 0-5 \n0 step load 6-21 \n" +
		"1 wait for a person 6-20 \n0 step web 21-50 probe_failed\n1 pull 21-25 failed\n" +
		"1 pull, try 2 27-30 \n1 ready 31-50 failed\n1 undo 51-58 "
	// promise: O-01
	if strings.Join(got, "\n") != want {
		t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/pipeline"
)

const (
	// tracesEvery is how long after its end a run may be incomplete in a collector.
	tracesEvery = 5 * time.Second
	// tracesAtOnce bounds one transaction.
	tracesAtOnce = 100
)

// TraceRuns writes the spans of runs that have ended: the run, its time in the queue, its steps
// with their parts, tries and undo, and its waits for people. They are made from what is stored,
// so that no restart leaves a trace without them. One that dies in between loses some runs'.
func TraceRuns(store *postgres.Store) Job {
	return Job{Name: "trace_runs", Every: tracesEvery, Do: func(ctx context.Context) error {
		for n := tracesAtOnce; n == tracesAtOnce; {
			var runs []postgres.TracedRun
			err := store.InTx(ctx, func(tx *postgres.Tx) (err error) {
				runs, err = tx.Runs().ClaimUntraced(ctx, tracesAtOnce)
				return err
			})
			if err != nil {
				return err
			}
			n = len(runs)
			for _, r := range runs {
				for _, s := range spansOfRun(r) {
					tracing.RecordRunSpan(s)
				}
			}
		}
		return nil
	}}
}

// spansOfRun are a run's spans. It is pure.
func spansOfRun(r postgres.TracedRun) []tracing.RunSpan {
	run := tracing.RunSpan{Parent: r.Traceparent, Run: string(r.ID),
		Name: "run", From: r.CreatedAt, To: *r.EndedAt,
		Attributes: []string{"deployment_id", string(r.Deployment), "deployment", r.Name,
			"project", r.Project, "environment", r.Environment, "node", r.Node,
			"run", fmt.Sprint(r.Number), "result", string(r.Result)}}
	if r.Failure != nil {
		run.Failed = r.Failure.Code
	}
	all := []tracing.RunSpan{run}
	add := func(name string, under int, from, to time.Time, failed string, parts ...string) {
		all = append(all, tracing.RunSpan{Parent: r.Traceparent, Run: string(r.ID), Name: name,
			Under: under, From: from, To: to, Failed: failed, Parts: parts})
	}
	if !r.QueuedAt.IsZero() && r.StartedAt != nil {
		add("wait for room", 0, r.QueuedAt, *r.StartedAt, "", "", "queue")
	}
	for _, s := range r.Steps {
		if s.StartedAt == nil {
			continue
		}
		key := string(s.Key)
		end := *r.EndedAt
		if s.EndedAt != nil {
			end = *s.EndedAt
		}
		add("step "+key, 0, *s.StartedAt, end, failureOf(s.StepRow), key)
		if s.AskedAt != nil && s.AnsweredAt != nil {
			add("wait for a person", 1, *s.AskedAt, *s.AnsweredAt, "", key, "approval")
		}
		tries := map[string]int{}
		for _, part := range s.Parts {
			tries[part.Kind]++
			failed := ""
			if part.Failed {
				failed = "failed"
			}
			add(partName(part, tries[part.Kind]), 1, part.From, part.To, failed, key,
				part.Kind, fmt.Sprint(tries[part.Kind]))
		}
	}
	return all
}

// partName says which try of a part it was, unless it is the first.
func partName(p controlplane.StepPart, try int) string {
	if try == 1 {
		return p.Kind
	}
	return fmt.Sprintf("%s, try %d", p.Kind, try)
}

func failureOf(s controlplane.StepRow) string {
	if s.Result == pipeline.StepFailed || s.Status == pipeline.StepFailed {
		return s.Code
	}
	return ""
}

package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) CompareRun(
	ctx context.Context, r CompareRunRequestObject,
) (CompareRunResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	c, err := s.Lifecycle.CompareRun(ctx, actorOf(ctx), id, r.Run)
	if err != nil {
		return nil, err
	}
	return CompareRun200JSONResponse(toRunComparison(c)), nil
}

func toRunComparison(c lifecycle.Comparison) RunComparison {
	out := RunComparison{Run: toComparedRun(c.Run), Versions: []ComparedVersion{},
		Steps: []ComparedStep{}, Fields: convertAll(c.Fields, toComparedField)}
	good := lifecycle.ComparedRun{}
	if c.Good != nil {
		good = *c.Good
		out.Good = new(toComparedRun(good))
	}
	out.Versions = compareVersions(good.Versions, c.Run.Versions)
	out.Steps = compareSteps(good.Steps, c.Run.Steps)
	return out
}

func toComparedRun(r lifecycle.ComparedRun) ComparedRun {
	out := ComparedRun{Deployment: deploymentRef(r.Of), Environment: r.Of.Environment,
		Number: r.Number, PipelineVersion: r.Version, Status: DeploymentStatus(r.Status),
		CreatedAt: r.CreatedAt, StartedBy: r.StartedBy}
	if r.Result != "" {
		out.Result = new(ComparedRunResult(r.Result))
	}
	var first, last *time.Time
	for _, s := range r.Steps {
		if s.StartedAt != nil && (first == nil || s.StartedAt.Before(*first)) {
			first = s.StartedAt
		}
		if s.EndedAt != nil && (last == nil || s.EndedAt.After(*last)) {
			last = s.EndedAt
		}
	}
	out.Seconds = secondsBetween(first, last)
	return out
}

// compareVersions joins the versions by their step: those of the run in their order, and then those
// that only the good run has.
func compareVersions(good, run []controlplane.ServiceVersion) []ComparedVersion {
	all := []ComparedVersion{}
	at := map[pipeline.StepKey]int{}
	for _, v := range run {
		at[v.Step] = len(all)
		all = append(all, ComparedVersion{Step: string(v.Step), Run: new(toServiceVersion(v))})
	}
	for _, v := range good {
		i, both := at[v.Step]
		if !both {
			all = append(all, ComparedVersion{Step: string(v.Step), Good: new(toServiceVersion(v))})
			continue
		}
		all[i].Good = new(toServiceVersion(v))
		a, b := *all[i].Run, *all[i].Good
		all[i].Same = a.Tag == b.Tag && a.Digest == b.Digest && a.Image == b.Image
	}
	return all
}

// compareSteps joins the steps by their key, like compareVersions.
func compareSteps(good, run []controlplane.StepRow) []ComparedStep {
	all := []ComparedStep{}
	at := map[pipeline.StepKey]int{}
	for _, s := range run {
		at[s.Key] = len(all)
		all = append(all, ComparedStep{Step: string(s.Key), Kind: string(s.Kind), Title: s.Title,
			Run: new(toComparedSpan(s))})
	}
	for _, s := range good {
		if i, both := at[s.Key]; both {
			all[i].Good = new(toComparedSpan(s))
			continue
		}
		all = append(all, ComparedStep{Step: string(s.Key), Kind: string(s.Kind), Title: s.Title,
			Good: new(toComparedSpan(s))})
	}
	return all
}

func toComparedSpan(s controlplane.StepRow) ComparedSpan {
	return ComparedSpan{Status: StepStatus(s.Status), Result: stepResult(s),
		Seconds: secondsBetween(s.StartedAt, s.EndedAt)}
}

func secondsBetween(from, to *time.Time) *float64 {
	if from == nil || to == nil {
		return nil
	}
	return new(to.Sub(*from).Seconds())
}

func toComparedField(f pipeline.FieldChange) ComparedField {
	return ComparedField{Path: f.Path, Good: rawValue(f.Old), Run: rawValue(f.New)}
}

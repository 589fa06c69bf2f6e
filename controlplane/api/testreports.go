package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) GetStepTests(
	ctx context.Context, r GetStepTestsRequestObject,
) (GetStepTestsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	report, err := s.Lifecycle.Tests(ctx, actorOf(ctx), id, r.Run, pipeline.StepKey(r.Step))
	if err != nil {
		return nil, err
	}
	return GetStepTests200JSONResponse(toTestReport(report)), nil
}

func toTestReport(r controlplane.TestReport) TestReport {
	return TestReport{Summary: *toTestSummary(&r.TestSummary), Truncated: r.Truncated,
		Failures: convertAll(r.Failures, func(f controlplane.TestFailure) TestFailure {
			return TestFailure{Suite: f.Suite, Name: f.Name, Message: f.Message}
		})}
}

func toTestSummary(s *controlplane.TestSummary) *TestSummary {
	if s == nil {
		return nil
	}
	out := &TestSummary{Tests: s.Tests, Failed: s.Failed, Skipped: s.Skipped, Seconds: s.Seconds,
		Marked: s.Marked, Problem: ptrOrNil(s.Problem)}
	if len(s.Names) > 0 {
		out.Names = &s.Names
	}
	return out
}

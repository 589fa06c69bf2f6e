package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Put stores what failed in a step's test suite. The numbers are stored with the
// step itself, by Steps.Move.
func (t TestReports) Put(ctx context.Context, run controlplane.RunID, step pipeline.StepKey,
	r controlplane.TestReport) error {
	failures := r.Failures
	if failures == nil {
		failures = []controlplane.TestFailure{}
	}
	data, err := encodeJSON(failures)
	if err != nil {
		return err
	}
	err = t.q.PutTestReport(ctx, dbsqlc.PutTestReportParams{RunID: string(run),
		Step: string(step), Failures: data, Truncated: r.Truncated})
	if err != nil {
		return fmt.Errorf("put test results of step %s: %w", step, translateError(err))
	}
	return nil
}

// Get reads the results of a step's test suite.
func (t TestReports) Get(ctx context.Context, run controlplane.RunID, step pipeline.StepKey,
) (r controlplane.TestReport, err error) {
	row, err := t.q.GetTestReport(ctx, string(run), string(step))
	if err != nil {
		return r, translateMissing(err, "test results of step", string(step))
	}
	if err := decodeJSON(row.Tests, &r.TestSummary); err != nil {
		return r, err
	}
	r.Truncated = row.Truncated
	return r, decodeJSON(row.Failures, &r.Failures)
}

// ListSummaries returns, by run, the combined result of its test suites. Runs without one are
// missing.
func (t TestReports) ListSummaries(
	ctx context.Context, runs ...controlplane.RunID,
) (map[controlplane.RunID]*controlplane.TestSummary, error) {
	rows, err := t.q.ListTestSummaries(ctx, toStrings(runs))
	if err != nil {
		return nil, fmt.Errorf("list test results: %w", err)
	}
	all := map[controlplane.RunID]*controlplane.TestSummary{}
	for _, row := range rows {
		id := controlplane.RunID(row.RunID)
		var suite controlplane.TestSummary
		if err := decodeJSON(row.Tests, &suite); err != nil {
			return nil, err
		}
		if all[id] == nil {
			all[id] = &controlplane.TestSummary{}
		}
		all[id].Add(suite)
	}
	return all, nil
}

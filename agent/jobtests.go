package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/junit"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// FileReader is a Runtime that can read files of a container that has ended.
type FileReader interface {
	// ReadFiles returns the regular files of a service's or job's container that match a path,
	// whose last part may be a glob. Links are not followed. No match is no error.
	ReadFiles(ctx context.Context, deployment string, step pipeline.StepKey, pattern string,
		limits FileLimits) ([]ContainerFile, error)
}

// FileLimits bound what ReadFiles returns; more is an error.
type FileLimits struct {
	Files int
	Bytes int64
}

// ContainerFile is one file; its name has no folder.
type ContainerFile struct {
	Name string
	Data []byte
}

// resultLimits hold the results of a large suite with one file for each class.
var resultLimits = FileLimits{Files: 256, Bytes: 8 << 20}

// IsGlob reports whether a path is a pattern that can match several files.
func IsGlob(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// addTests adds the test results of a job that has ended, if its step says where they are.
func (o operation) addTests(ctx context.Context, r engine.Result) operationResult {
	step, _ := o.goal.Pipeline.Step(o.do.Step)
	if step.Job == nil || step.Job.Tests == nil {
		return operationResult{result: r}
	}
	report, err := o.readTests(ctx, *step.Job.Tests)
	if err != nil {
		// The container stays as it is, so that the next probe finds the same results.
		unknown := o.classifyErr(ctx, err, "tests")
		unknown.Outcome = engine.OutcomeUnknown
		return operationResult{result: unknown}
	}
	r.Tests = report
	return operationResult{result: r}
}

// readTests returns what a job's test runner wrote, with secrets masked. What is missing or
// broken is the report's problem; an error means that nothing is known, and to ask again.
func (o operation) readTests(ctx context.Context, tests pipeline.JobTests,
) (*wire.TestReport, error) {
	v, _ := o.base.viewOf(o.goal.Deployment)
	if v.bundle == nil {
		return nil, fmt.Errorf("%w: the secrets to mask are not here", ErrUnavailable)
	}
	masker := v.bundle.masker
	files, err := o.readResultFiles(ctx, tests.JUnit)
	if err := cmp.Or(ctx.Err(), err); errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b ContainerFile) int { return cmp.Compare(a.Name, b.Name) })
	all := junit.Collector{Mask: func(text string, cut bool) string {
		return masker.MaskPart(text, false, cut)
	}}
	problem := ""
	switch {
	case err != nil:
		problem = fmt.Sprintf("the test results %s cannot be read: %v", tests.JUnit, err)
	case len(files) == 0:
		problem = noResults(tests.JUnit)
	}
	for _, f := range files {
		if err := all.Add(f.Data); err != nil && problem == "" {
			problem = fmt.Sprintf("the test results in %s cannot be read: %v",
				path.Join(path.Dir(tests.JUnit), f.Name), err)
		}
	}
	report := all.Report()
	report.Marked = tests.Failed == pipeline.FailedTestsMark
	report.Problem = masker.Mask(problem)
	return &report, nil
}

func noResults(pattern string) string {
	return fmt.Sprintf("no file matches %s: have the test runner write JUnit XML there, not on a "+
		"tmpfs, or change tests.junit of the step", pattern)
}

func (o operation) readResultFiles(ctx context.Context, pattern string) ([]ContainerFile, error) {
	reader, ok := o.base.runtime.(FileReader)
	if !ok {
		return nil, errors.New("this container engine cannot read files of an ended container")
	}
	return reader.ReadFiles(ctx, o.goal.Deployment, o.do.Step, pattern, resultLimits)
}

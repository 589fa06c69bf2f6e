package engine

import (
	"fmt"
	"strings"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Codes of jobs whose test results fail a run.
const (
	CodeTestsFailed = "tests_failed"
	CodeNoTests     = "no_test_results"
)

// namedTests is how many failed tests the sentence about them names.
const namedTests = 3

// completeJob completes or fails a job that has ended by itself, by its exit code and, if
// it is a test suite, by its results. A runner whose tests failed ends with another code than
// 0, so results that only mark the run excuse that code; they excuse no lack of memory and
// no signal.
func (j *jobs) completeJob(key pipeline.StepKey, r Result) {
	ended := r.ExitCode != nil && *r.ExitCode == 0
	t := r.Tests
	if t == nil {
		t = &wire.TestReport{}
	}
	excused := t.Marked && (ended || t.Failed > 0 && r.Code == CodeExitCode)
	if excused || ended && t.Failed == 0 && t.Problem == "" {
		j.completeStep(key, Result{ExitCode: r.ExitCode, Message: describeTests(r.Tests), Tests: r.Tests})
		return
	}
	switch {
	case t.Failed > 0 && (ended || r.Code == CodeExitCode):
		r.Code, r.Message = CodeTestsFailed, describeTests(t)
	case ended:
		r.Code, r.Message = CodeNoTests, t.Problem
	}
	j.failStep(key, r)
}

// describeTests is one sentence about test results; empty if there are none.
func describeTests(t *wire.TestReport) string {
	switch {
	case t == nil:
		return ""
	case t.Failed > 0:
		return fmt.Sprintf("%d of %d tests failed%s", t.Failed, t.Tests, firstNames(t))
	case t.Problem != "":
		return t.Problem
	case t.Skipped > 0:
		return fmt.Sprintf("%d tests passed, %d were skipped", t.Tests-t.Skipped, t.Skipped)
	}
	return fmt.Sprintf("%d tests passed", t.Tests)
}

func firstNames(t *wire.TestReport) string {
	var names []string
	for _, f := range t.Failures[:min(len(t.Failures), namedTests)] {
		name := f.Name
		if name == "" {
			name = f.Suite
		}
		names = append(names, strings.Join(strings.Fields(name), " "))
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if t.Failed > len(names) {
		more = fmt.Sprintf(" and %d more", t.Failed-len(names))
	}
	return ": " + strings.Join(names, ", ") + more
}

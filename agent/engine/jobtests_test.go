package engine_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
)

// The results of a test suite decide together with the exit code, and travel with the step
// whatever becomes of it.
func TestJob_IsJudgedByItsTests(t *testing.T) {
	failures := []wire.TestFailure{{Name: "a\nb"}, {Suite: "s"}, {Name: "c"}, {Name: "d"}}
	const named = "4 of 120 tests failed: a b, s, c and 1 more"
	passed := wire.TestReport{Tests: 120, Skipped: 2}
	failed := wire.TestReport{Tests: 120, Failed: 4, Failures: failures}
	missing := wire.TestReport{Problem: "no file matches"}
	for _, c := range []struct {
		name   string
		ends   time.Duration
		code   int
		why    string
		report wire.TestReport
		marked bool
		fails  string
		says   string
	}{
		{"passed", 0, 0, "", passed, false, "", "118 tests passed, 2 were skipped"},
		{"one skipped", 0, 0, "", wire.TestReport{Tests: 2, Skipped: 1}, false, "",
			"1 tests passed, 1 were skipped"},
		{"failed", 0, 1, "", failed, false, engine.CodeTestsFailed, named},
		{"failed, code 0", 0, 0, "", failed, false, engine.CodeTestsFailed, named},
		{"missing", 0, 0, "", missing, false, engine.CodeNoTests, "no file matches"},
		{"missing, code 2", 0, 2, "", missing, false, engine.CodeExitCode, "it ended"},
		{"passed, code 2", 0, 2, "", passed, false, engine.CodeExitCode, "it ended"},
		{"no memory", 0, 137, "oom", failed, false, "oom", "it ended"},
		{"marked", 0, 1, "", failed, true, "", named},
		{"marked, code 0", 0, 0, "", failed, true, "", named},
		{"marked, missing", 0, 0, "", missing, true, "", "no file matches"},
		{"marked, missing, code 2", 0, 2, "", missing, true, engine.CodeExitCode, "it ended"},
		{"marked, passed, code 2", 0, 2, "", passed, true, engine.CodeExitCode, "it ended"},
		{"marked, no memory", 0, 137, "oom", failed, true, "oom", "it ended"},
		{"marked, too long", time.Hour, 0, "", failed, true, engine.CodeTimeout, "the job " +
			"did not end within 1 minute and was stopped"},
	} {
		r := newJobRun(t)
		c.report.Marked = c.marked
		r.ends, r.code, r.why, r.tests = c.ends, c.code, c.why, &c.report
		phase, last := wire.PhaseUndoing, &r.failed
		if c.fails == "" {
			phase, last = wire.PhaseReady, &r.done
		}
		if got := r.play(); got != phase || last.Code != c.fails || last.Message != c.says ||
			last.Tests != &c.report {
			t.Errorf("%s: %s after %v: %+v", c.name, got, r.did, *last)
		}
	}
}

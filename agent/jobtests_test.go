package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// testSuiteGoal returns the shop whose job is a test suite.
func testSuiteGoal(deployment string, failed pipeline.FailedTests) wire.Goal {
	g := migrationGoal(deployment)
	g.Pipeline.Steps[2].Job.Tests = &pipeline.JobTests{JUnit: "/results/*.xml", Failed: failed}
	return g
}

func resultFile(name, text string) agent.ContainerFile {
	return agent.ContainerFile{Name: name, Data: []byte(text)}
}

// reportOf returns the last results that the agent sent.
func (p *plane) reportOf(step pipeline.StepKey) *wire.TestReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.Step == step && e.Tests != nil {
			return e.Tests
		}
	}
	return &wire.TestReport{}
}

// The files of a job are read when it has ended, added up, and masked.
func TestAgent_TestResultsOfAJob(t *testing.T) {
	const passed = `<testsuite><testcase name="a"/><testcase name="b"/></testsuite>`
	failed := `<testsuite name="db"><testcase name="connects to ` + password + `"><failure>` +
		`wrong password ` + password + `</failure></testcase></testsuite>`
	for name, c := range map[string]struct {
		files []agent.ContainerFile
		mode  pipeline.FailedTests
		code  int
		phase wire.Phase
		want  wire.TestReport
		says  string
	}{
		"passed": {[]agent.ContainerFile{resultFile("a.xml", passed), resultFile("b.xml", passed)},
			"", 0, wire.PhaseReady, wire.TestReport{Tests: 4}, "4 tests passed"},
		"failed": {[]agent.ContainerFile{resultFile("a.xml", passed), resultFile("b.xml", failed)},
			"", 1, wire.PhaseFailed, wire.TestReport{Tests: 3, Failed: 1},
			"1 of 3 tests failed: connects to [secret]"},
		"marked": {[]agent.ContainerFile{resultFile("b.xml", failed)}, pipeline.FailedTestsMark, 1,
			wire.PhaseReady, wire.TestReport{Tests: 1, Failed: 1, Marked: true},
			"1 of 1 tests failed: connects to [secret]"},
		"missing": {nil, "", 0, wire.PhaseFailed, wire.TestReport{Problem: "no file matches " +
			"/results/*.xml: have the test runner write JUnit XML there, not on a tmpfs, or change " +
			"tests.junit of the step"}, "no file matches /results/*.xml"},
		"broken": {[]agent.ContainerFile{resultFile("a.xml", passed), resultFile("b.xml", "<a/>")},
			"", 0, wire.PhaseFailed, wire.TestReport{Tests: 2, Problem: "the test results in " +
				"/results/b.xml cannot be read: its root is <a>, not <testsuites> or <testsuite>"},
			"/results/b.xml cannot be read"},
	} {
		p := newPlane(t)
		r := dummy.New(dummy.Hooks{Plugin: runMaker, Health: endsWith(c.code, always),
			Files: func(_ string, step pipeline.StepKey, pattern string) []agent.ContainerFile {
				if step != "migrate" || pattern != "/results/*.xml" {
					t.Errorf("%s of %s is read", pattern, step)
				}
				return c.files
			}})
		p.want(p.boot(t.TempDir(), r, nil).connect(), testSuiteGoal("d1", c.mode))
		p.untilPhase("d1", c.phase)
		got := *p.reportOf("migrate")
		text := fmt.Sprint(got, p.story())
		if got.Tests != c.want.Tests || got.Failed != c.want.Failed || got.Marked != c.want.Marked ||
			got.Problem != c.want.Problem || strings.Contains(text, password) ||
			!strings.Contains(p.story(), c.says) {
			t.Errorf("%s: %+v\n%s", name, got, p.story())
		}
		if c.want.Failed > 0 && got.Failures[0] != (wire.TestFailure{Suite: "db",
			Name: "connects to [secret]", Message: "wrong password [secret]"}) {
			t.Errorf("%s: %+v", name, got.Failures)
		}
	}
}

// Results that were read while the link was down survive the agent, and an engine that
// cannot be asked is asked again.
func TestAgent_TestResultsOutliveTheAgent(t *testing.T) {
	p := newPlane(t)
	dir := t.TempDir()
	var asked atomic.Int32
	var ended atomic.Bool
	r := dummy.New(dummy.Hooks{Plugin: runMaker, Health: endsWith(0, ended.Load),
		Files: func(string, pipeline.StepKey, string) []agent.ContainerFile {
			return []agent.ContainerFile{resultFile("a.xml", `<testsuite><testcase/></testsuite>`)}
		},
		Fail: func(op, _ string) error {
			if op == "files" && asked.Add(1) == 1 {
				return fmt.Errorf("%w: for a moment", agent.ErrUnavailable)
			}
			return nil
		}})
	n := p.boot(dir, r, nil)
	s := n.connect()
	p.want(s, testSuiteGoal("d1", ""))
	p.until("the job's sign of life", func() bool { return p.signs["migrate"] > 0 })
	_ = s.Close(wire.CodeGone, "the link breaks")
	ended.Store(true)
	for !slices.Contains(r.OperationLog(), "start web") {
		time.Sleep(10 * time.Millisecond)
	}
	n.stop()
	if got := p.reportOf("migrate"); got.Tests != 0 {
		t.Fatalf("the link is up: %+v", got)
	}
	p.boot(dir, r, nil).connect()
	p.untilPhase("d1", wire.PhaseReady)
	if got := p.reportOf("migrate"); got.Tests != 1 || got.Problem != "" || asked.Load() != 2 {
		t.Errorf("%d times asked: %+v", asked.Load(), got)
	}
}

package controlplane

// TestSummary is the result of a job's test suite.
type TestSummary struct {
	Tests   int     `json:"tests"`
	Failed  int     `json:"failed,omitempty"`
	Skipped int     `json:"skipped,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Marked says that failed tests do not fail the run: the pipeline only marks it.
	Marked bool `json:"marked,omitempty"`
	// Names are those of the first failed tests.
	Names []string `json:"names,omitempty"`
	// Problem is why results are missing, or cannot be read.
	Problem string `json:"problem,omitempty"`
}

// TestReport is a summary and what failed.
type TestReport struct {
	TestSummary
	// Failures are the first ones. Truncated says that there were more, or longer messages.
	Failures  []TestFailure
	Truncated bool
}

// TestFailure is one test that failed.
type TestFailure struct {
	Suite   string `json:"suite,omitempty"`
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
}

// maxTestNames is how many failed tests a summary names.
const maxTestNames = 3

// NewTestReport makes the summary that belongs to what failed.
func NewTestReport(s TestSummary, failures []TestFailure, truncated bool) *TestReport {
	for _, f := range failures[:min(len(failures), maxTestNames)] {
		name := f.Name
		if name == "" {
			name = f.Suite
		}
		s.Names = append(s.Names, name)
	}
	return &TestReport{TestSummary: s, Failures: failures, Truncated: truncated}
}

// Add adds the suite of another job of the same run.
func (s *TestSummary) Add(other TestSummary) {
	s.Tests += other.Tests
	s.Failed += other.Failed
	s.Skipped += other.Skipped
	s.Seconds += other.Seconds
	s.Marked = s.Marked || other.Marked
	s.Names = append(s.Names, other.Names...)
	s.Names = s.Names[:min(len(s.Names), maxTestNames)]
	if s.Problem == "" {
		s.Problem = other.Problem
	}
}

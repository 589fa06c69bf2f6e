package wire

// TestReport is what the test runner of a job wrote as JUnit XML, added up. It is bounded, and
// its texts are masked.
type TestReport struct {
	Tests   int     `json:"tests"`
	Failed  int     `json:"failed,omitempty"`
	Skipped int     `json:"skipped,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Failures are the first ones, Truncated says that there were more, or longer messages.
	Failures  []TestFailure `json:"failures,omitempty"`
	Truncated bool          `json:"truncated,omitempty"`
	// Marked says that the pipeline lets this job only mark its run.
	Marked bool `json:"marked,omitempty"`
	// Problem is one sentence for people if results are missing or cannot be read.
	Problem string `json:"problem,omitempty"`
}

// TestFailure is one test that failed.
type TestFailure struct {
	Suite   string `json:"suite,omitempty"`
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
}

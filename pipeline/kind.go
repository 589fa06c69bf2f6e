package pipeline

// StepKind is what a step is: exactly one of the four fields of Step is set.
type StepKind string

// The step kinds.
const (
	KindService  StepKind = "service"
	KindJob      StepKind = "job"
	KindPlugin   StepKind = "plugin"
	KindApproval StepKind = "approval"
)

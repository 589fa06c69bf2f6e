package pipeline

// StepStatus is where a step of one run stands.
//
//	pending ─▶ pulling ─▶ running ─▶ done ─▶ undoing ─▶ undone
//	   │          │          │                  ▲
//	   ▼          ▼          ▼                  │
//	skipped     failed    failed ───────────────┘
//
// A service's step that is done fails when the service ends before the run is ready
// and may not be restarted. A job's step is running until its container has ended.
//
// An approval has no effect to undo: pending ─▶ waiting ─▶ done, failed or, when
// the run ends before anybody answers, skipped.
//
// unknown is shown while nobody can ask: a crashed agent, a lost link.
type StepStatus string

// The step statuses.
const (
	StepPending StepStatus = "pending"
	StepPulling StepStatus = "pulling"
	StepRunning StepStatus = "running"
	StepWaiting StepStatus = "waiting"
	StepDone    StepStatus = "done"
	StepFailed  StepStatus = "failed"
	StepUndoing StepStatus = "undoing"
	StepUndone  StepStatus = "undone"
	StepSkipped StepStatus = "skipped"
	StepUnknown StepStatus = "unknown"
)

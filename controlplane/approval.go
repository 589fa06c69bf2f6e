package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Question is what an approval step of a run asks, and its one answer.
type Question struct {
	Deployment DeploymentID
	RunID      RunID
	// Run is the run's number.
	Run  int
	Step pipeline.StepKey
	// Prompt is the question with references filled in.
	Prompt   string
	AskedAt  time.Time
	Deadline time.Time
	// Approval holds the fields, and who may answer.
	Approval pipeline.ApprovalStep
	// Status is the step's: a question is open while it is waiting.
	Status pipeline.StepStatus
	// Answer is nil while the question is open.
	Answer *Answer
}

// Open reports whether the run still waits for an answer.
func (q Question) Open() bool { return q.Status == pipeline.StepWaiting && q.Answer == nil }

// Answer is a person's answer to a question. It cannot be changed.
type Answer struct {
	Approved bool
	// Fields are the declared ones, defaults filled in.
	Fields map[string]any
	By     string
	At     time.Time
}

// Metadatum is one name and value that a plugin wants shown beside its step.
type Metadatum struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

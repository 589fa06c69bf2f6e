package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// StepCheck is a plugin's answer to whether what it made still exists.
type StepCheck struct {
	Step    pipeline.StepKey
	OK      bool
	Code    string
	Message string
	Took    time.Duration
	// Log is the end of what it wrote.
	Log []string
}

// Run is one attempt to create a deployment.
type Run struct {
	ID         RunID
	Deployment DeploymentID
	Number     int
	Project    ProjectID
	Version    int
	// Pipeline is the version with tags and digests filled in.
	Pipeline pipeline.Pipeline
	// Input are the values of the fields that it declares.
	Input  map[string]any
	Status DeploymentStatus
	// Result is the first end that it reached: Ready, Failed or Canceled; empty before. It stays
	// when the deployment is removed later.
	Result    DeploymentStatus
	StartedBy string
	// RequestID is the request it began with; empty if it began by itself.
	RequestID string
	// Traceparent is the trace that it belongs to, as the W3C header; empty without one.
	Traceparent string
	CreatedAt   time.Time
	EndedAt     *time.Time
	Failure     *Failure
	// Key seals the run's secret outputs.
	Key Sealed
}

// StepRow is one step of one run.
type StepRow struct {
	Run RunID
	Key pipeline.StepKey
	// Position is the step's place in the order, from 1.
	Position int
	Kind     pipeline.StepKind
	Title    string
	Status   pipeline.StepStatus
	// Result is what its work came to, StepDone or StepFailed; empty before. Its undo leaves it.
	Result    pipeline.StepStatus
	StartedAt *time.Time
	EndedAt   *time.Time
	// UndoneAt is when its undo had ended.
	UndoneAt *time.Time
	Code     string
	Message  string
	ExitCode *int
	// Outputs are for people: secret ones are "[secret]".
	Outputs map[string]any
	// Sealed holds all outputs under the run's key.
	Sealed []byte
	// Metadata is what a plugin wants shown beside the step.
	Metadata []Metadatum
	// Tests is the result of a job's test suite; nil if it left none.
	Tests *TestSummary
	// Parts are how it has spent its time, in the order in which they ended; empty if its agent is of
	// an earlier release.
	Parts []StepPart
	// Lines counts the log lines stored.
	Lines int64
}

// MaxStepParts is how many parts of a step are kept, the first ones.
const MaxStepParts = 100

// StepPart is a part of a step's time: pull, sandbox, start, ready, run or undo.
type StepPart struct {
	Kind string    `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Failed says that it ended badly: it was tried again, or the step failed.
	Failed bool `json:"failed,omitempty"`
}

// ServiceVersion is the version one service or job of a deployment runs.
type ServiceVersion struct {
	Step    pipeline.StepKey `json:"step"`
	Service string           `json:"service"`
	// Image is registry/repository, without a tag.
	Image   string           `json:"image"`
	TagMode pipeline.TagMode `json:"tag_mode"`
	Tag     string           `json:"tag"`
	Digest  string           `json:"digest"`
	// Ports are all the service listens on, exposed or not.
	Ports []pipeline.Port `json:"ports,omitempty"`
	// Job: it is a job's version, of which nothing runs once it is done.
	Job bool `json:"job,omitempty"`
}

// Host is one name the ingress answers for.
type Host struct {
	Host       string
	Deployment DeploymentID
	Step       pipeline.StepKey
	PortName   string
	Port       int
	// Main is the service's first exposed port, which its URL shows.
	Main bool
	// Alias is the alias that it is of; empty for the deployment's own.
	Alias string
}

// ServiceHealth is the result of the last probe. Memory is in bytes, CPU in cores.
type ServiceHealth struct {
	Deployment DeploymentID
	Step       pipeline.StepKey
	Health     pipeline.Health
	// Ended is a healthy service that does not run any more, because its work is done.
	Ended    bool
	Detail   string
	Restarts int
	CPU      float64
	Memory   int64
}

// HistoryKind says what a history entry is about.
type HistoryKind string

// The kinds.
const (
	HistoryDeployment HistoryKind = "deployment"
	HistoryStep       HistoryKind = "step"
	HistoryHealth     HistoryKind = "health"
	HistoryExpiring   HistoryKind = "expiring"
)

// History is one numbered change of a deployment: 1, 2, 3 without a gap.
type History struct {
	Seq  int64
	At   time.Time
	Kind HistoryKind
	// Step is set for HistoryStep: the step as it was then.
	Step *StepRow
	Run  int
	// Expiring is set for HistoryExpiring: how much time was left then.
	Expiring ExpiryNotice
}

// LogLine is one line a plugin wrote. ID orders the deployment's lines, Number
// those of one step of one run.
type LogLine struct {
	ID        int64
	Run       RunID
	RunNumber int
	Step      pipeline.StepKey
	Number    int64
	At        time.Time
	Text      string
	// Dropped counts lines left out before this one.
	Dropped int64
}

// NodeGoal is what one deployment on a node should come to: the agent's goal.
type NodeGoal struct {
	Deployment DeploymentID
	// Name is what its services are told; Renamed is set if it is not the name that people see.
	Name       string
	Renamed    bool
	Generation int64
	Goal       Goal
	// Elsewhere says that another node has the deployment too, and is responsible for its plugins'
	// results. Still says that nothing of it may run.
	Elsewhere, Still bool
	// Attempt is the relocation that may write its volumes, Resume lists services to start again;
	// see Relocation.
	Attempt time.Time
	Resume  []pipeline.StepKey
	// Limits are the project's.
	Limits pipeline.Resources
	// RequestID is the request that last set its goal.
	RequestID string
	// Traceparent is the trace of its run; empty without one.
	Traceparent string
	Status      DeploymentStatus
	Project     string
	Environment string
	Domain      string
	Run         RunID
	Version     int
	Pipeline    pipeline.Pipeline
	Input       map[string]any
	URLs        map[pipeline.StepKey]string
	// Answers are the answers to the run's approvals.
	Answers map[pipeline.StepKey]Answer
}

// Route is one host and the service that it leads to.
type Route struct {
	Host        string
	Deployment  DeploymentID
	Name        string
	Project     string
	Environment string
	Step        pipeline.StepKey
	Port        int
	Status      DeploymentStatus
	Detail      string
	ChangedAt   time.Time
	Node        NodeID
	NodeStatus  NodeStatus
	NodeSince   time.Time
	// KnownAs is the name that the services were told; empty for deployments that are not updated
	// aside.
	KnownAs string
	// Formers lists the deployments that had the host before, as JSON of []FormerRoute; empty for
	// none. It is text so that routes can be compared.
	Formers string
}

// FormerRoute is where the service of a host answers that another deployment has now. Visitors who
// were there may stay until a time.
type FormerRoute struct {
	Deployment DeploymentID `json:"deployment"`
	Host       string       `json:"host"`
	Until      time.Time    `json:"until"`
}

// Progress is a sign of life of a running step. It may be lost.
type Progress struct {
	Deployment  DeploymentID     `json:"deployment"`
	Run         RunID            `json:"run"`
	RunNumber   int              `json:"-"`
	Step        pipeline.StepKey `json:"step"`
	At          time.Time        `json:"at"`
	PulledBytes int64            `json:"pulled_bytes,omitempty"`
	TotalBytes  int64            `json:"total_bytes,omitempty"`
	// PulledLayers and TotalLayers count the image's layers.
	PulledLayers int       `json:"pulled_layers,omitempty"`
	TotalLayers  int       `json:"total_layers,omitempty"`
	Lines        int64     `json:"lines,omitempty"`
	Bytes        int64     `json:"bytes,omitempty"`
	LastOutput   time.Time `json:"last_output,omitzero"`
}

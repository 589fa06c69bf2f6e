package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// DefinitionSourceID names a source of definitions.
type DefinitionSourceID string

// SourceMode says who decides that what a source found is applied.
type SourceMode string

// The modes.
const (
	SourceConfirm   SourceMode = "confirm"
	SourceAutomatic SourceMode = "automatic"
)

// SourceStatus is how a source stands.
//
//	new ──▶ synced ◀──▶ waiting     waiting: a commit has changes that nobody has applied
//	 │         ▲           ▲
//	 └──▶ failed ◀─────────┘         failed: the last look found nothing that can be applied
type SourceStatus string

// The statuses.
const (
	SourceNew     SourceStatus = "new"
	SourceSynced  SourceStatus = "synced"
	SourceWaiting SourceStatus = "waiting"
	SourceFailed  SourceStatus = "failed"
)

// DefinitionSource is a folder of a branch of a git repository whose documents define what admins
// define. Its token and the secret of its webhook are sealed apart.
type DefinitionSource struct {
	ID   DefinitionSourceID
	Name string
	// URL is http or https; Folder is empty for the whole repository.
	URL, Branch, Folder string
	// Username goes with the token; empty is what most code hosts accept.
	Username string
	// CA are certificates of authorities that are trusted for this source, in PEM.
	CA     string
	Period time.Duration
	Mode   SourceMode
	// Removes deletes what the documents do not define any more and nothing uses.
	Removes bool
	// Kinds are those of the documents that it may hold.
	Kinds []string
	// Webhook is the code host that tells of pushes; empty for none.
	Webhook ReviewSource
	Active  bool
	// Owner is the admin who saved it last, in whose name it applies; OwnerID is empty once that
	// person is deleted.
	Owner     string
	OwnerID   UserID
	CreatedAt time.Time
	// Generation grows with the settings.
	Generation int64
	Status     SourceStatus
	State      SourceState
}

// SourceState is what the last look at a source found.
type SourceState struct {
	CheckedAt *time.Time `json:"checked_at,omitempty"`
	// Found is the commit that was read last, with the settings of that generation.
	Found           *SourceCommit `json:"found,omitempty"`
	FoundGeneration int64         `json:"found_generation,omitempty"`
	// Applied is the commit that was applied last; AppliedBy is the person who confirmed it, empty
	// if nobody had to.
	Applied   *SourceCommit `json:"applied,omitempty"`
	AppliedAt *time.Time    `json:"applied_at,omitempty"`
	AppliedBy string        `json:"applied_by,omitempty"`
	// AppliedGeneration is that of the settings then.
	AppliedGeneration int64 `json:"applied_generation,omitempty"`
	// Changes is what applying Found would do.
	Changes []DefinitionChange `json:"changes,omitempty"`
	// Unlisted is what the source owns and Found does not define; it stays.
	Unlisted []Definition `json:"unlisted,omitempty"`
	// Drift is what was changed in NullOps since Applied: what applying it again would undo.
	Drift []DefinitionChange `json:"drift,omitempty"`
	// Failure is why the last look failed, FailingSince when that began.
	Failure      *SourceFailure `json:"failure,omitempty"`
	FailingSince *time.Time     `json:"failing_since,omitempty"`
}

// IsApplied reports whether the commit that was found is the one that was applied, with the same
// settings.
func (s SourceState) IsApplied() bool {
	return s.Applied != nil && s.Found != nil && s.Applied.Hash == s.Found.Hash &&
		s.AppliedGeneration == s.FoundGeneration
}

// SourceCommit is a commit of a source.
type SourceCommit struct {
	Hash    string    `json:"hash"`
	Subject string    `json:"subject,omitempty"`
	Author  string    `json:"author,omitempty"`
	At      time.Time `json:"at"`
}

// SourceFailure is why nothing of a source can be applied.
type SourceFailure struct {
	// Commit is the one that is at fault, empty if none was read.
	Commit   string          `json:"commit,omitempty"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Remedy   string          `json:"remedy,omitempty"`
	Problems []SourceProblem `json:"problems,omitempty"`
}

// SourceProblem is one thing to change in a document.
type SourceProblem struct {
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	What    string   `json:"what,omitempty"`
	Step    string   `json:"step,omitempty"`
	Field   string   `json:"field,omitempty"`
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"`
	Users   []string `json:"users,omitempty"`
}

// DefinitionChange is what applying documents does to one definition, or to a part of a project.
type DefinitionChange struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Part is pipeline, secret NAME or template NAME.
	Part string `json:"part,omitempty"`
	// Action is created, changed, unchanged or deleted.
	Action  string                 `json:"action"`
	Changes []pipeline.FieldChange `json:"changes,omitempty"`
	Diff    *pipeline.Diff         `json:"diff,omitempty"`
	// File and Line say where the document stands.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Document is the position of the document; nil for what is removed.
	Document *int `json:"-"`
	// ChangedBy and ChangedAt say, of drift, who changed it last in NullOps.
	ChangedBy string     `json:"changed_by,omitempty"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
}

// SourceFile is one file of a source at a commit.
type SourceFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

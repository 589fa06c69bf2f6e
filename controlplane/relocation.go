package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// RelocationPhase is how far a deployment is that goes to another node with what is
// in its volumes.
//
//	measuring ─▶ copying ─▶ starting ─▶ clearing ─▶ (none)
//	    │           └──────────┴──▶ clearing ─▶ (none)
//	    └─▶ (none)
//
// Until it is ready there it belongs to the node it was on, where nothing runs while
// it is copied and started. What is cleared is the node it is not on in the end.
type RelocationPhase string

// The phases.
const (
	Measuring RelocationPhase = "measuring"
	Copying   RelocationPhase = "copying"
	Starting  RelocationPhase = "starting"
	Clearing  RelocationPhase = "clearing"
)

// Relocation is a deployment's state on a node that is not its own: the target of a copy, or a node
// that is still to be cleared.
type Relocation struct {
	Deployment DeploymentID
	NodeID     NodeID
	Node       string
	Phase      RelocationPhase
	By         string
	Since      time.Time
	// Bytes is what its volumes take, once that is known.
	Bytes int64
	// Resume lists services with restart "never" that were stopped for the copy: they are started
	// where the deployment ends up.
	Resume []pipeline.StepKey
	// FromBackup says that the data comes from a backup instead of the deployment's own node.
	FromBackup bool
}

// RelocationAttempt is one relocation of a deployment. A worker that was stuck in an earlier one
// must not decide about a later one: Since distinguishes them.
type RelocationAttempt struct {
	Deployment DeploymentID
	Since      time.Time
}

// RelocationTask is one relocation, as the worker that copies the volumes needs it.
type RelocationTask struct {
	RelocationAttempt
	From, To NodeID
	Volumes  []VolumeName
	// Bytes is what all of them take, once they are measured; Resume is what was ended
	// for the copy, and is never restarted otherwise.
	Bytes  int64
	Resume []pipeline.StepKey
}

// Copies lists what is copied.
func (t RelocationTask) Copies() []VolumeCopy {
	all := make([]VolumeCopy, len(t.Volumes))
	for i, v := range t.Volumes {
		all[i] = VolumeCopy{Source: t.Deployment, SourceVolume: v, From: t.From,
			RelocationAttempt: t.RelocationAttempt, Volume: v, To: t.To}
	}
	return all
}

// VolumeCopy is one volume that is copied: from one deployment to the same one on another node, or
// to another one.
type VolumeCopy struct {
	Source       DeploymentID
	SourceVolume VolumeName
	From         NodeID
	// RelocationAttempt is named to the agent that writes.
	RelocationAttempt
	Volume VolumeName
	To     NodeID
}

// FillTask is an update whose volumes are filled from another deployment's.
type FillTask struct {
	RelocationAttempt
	Source   DeploymentID
	From, To NodeID
	Copies   []VolumeCopy
}

// KeptData says which volumes of a deployment its update begins with, and which not, as
// service/volume.
type KeptData struct {
	Kept []string
	// Stay are kept on their node by the pipeline, Dropped are not in the update's pipeline.
	Stay, Dropped []string
}

// VolumesState is how a deployment's volumes are on one node.
type VolumesState struct {
	// Still says that nothing runs on the node; Stopped lists the services with restart "never"
	// that ran there until then.
	Still   bool
	Stopped []pipeline.StepKey
	// Bytes is what they take, if that was asked.
	Bytes int64
}

// VolumeName is one volume of one service.
type VolumeName struct {
	Step pipeline.StepKey
	Name string
}

// HoldPurpose is why a deployment stands still where it is.
type HoldPurpose string

// The purposes. A backup that nobody works at any more ends by itself. A restore does not:
// its services would start with half of their data.
const (
	HoldForBackup  HoldPurpose = "backup"
	HoldForRestore HoldPurpose = "restore"
	// HoldForFill keeps the run of an update waiting until its volumes are filled; the deployment
	// that it is prepared beside stands still as HoldAsSource, with the update as the holder.
	HoldForFill  HoldPurpose = "fill"
	HoldAsSource HoldPurpose = "source"
)

// VolumeHold keeps the services of a deployment stopped while its volumes are read or written.
type VolumeHold struct {
	Deployment DeploymentID
	Purpose    HoldPurpose
	By         string
	Since      time.Time
	// Holder identifies the process that copies.
	Holder string
}

// HeldVolumes is what a backup or a restore works with: one deployment that has volumes.
type HeldVolumes struct {
	Deployment
	// Volumes are those that can be copied, Stay those that the pipeline keeps on their node.
	Volumes []VolumeName
	Stay    []string
	// Attempt is named to the agent that writes the volumes; zero for a backup.
	Attempt RelocationAttempt
	// To is the node whose volumes are read or written, InPlace that it is the deployment's own.
	To      NodeID
	ToName  string
	InPlace bool
}

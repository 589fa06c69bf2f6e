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

// Relocation is what a deployment has to do with a node that is not its own.
type Relocation struct {
	Deployment DeploymentID
	NodeID     NodeID
	Node       string
	Phase      RelocationPhase
	By         string
	Since      time.Time
	// Bytes is what its volumes take, once that is known.
	Bytes int64
	// Resume are services that are never restarted, and that were ended for the copy:
	// they go on where it goes.
	Resume []pipeline.StepKey
}

// Attempt is one relocation of a deployment. Whoever was busy with an earlier one for
// too long must not decide about a later one: Since tells them apart.
type Attempt struct {
	Deployment DeploymentID
	Since      time.Time
}

// Journey is one relocation for whoever copies the volumes.
type Journey struct {
	Attempt
	From, To NodeID
	Volumes  []VolumeName
	// Bytes is what all of them take, once they are measured; Resume is what was ended
	// for the copy, and is never restarted otherwise.
	Bytes  int64
	Resume []pipeline.StepKey
}

// VolumesState is how a deployment's volumes are on one node.
type VolumesState struct {
	// Still says that nothing of it runs there, Stopped which services ran until then
	// that are never restarted.
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

package controlplane

import "time"

// KeepUnknown is for how long nothing unknown to the database is removed from a node after an
// unknown deployment was found there, including objects that belong to no deployment. Named
// deployments stay until an admin decides, however long.
const KeepUnknown = 24 * time.Hour

// UnknownDeployment is one about which a node reports something that the database
// does not, since it was restored from a backup that is older: either there is
// no row, or the row is Disputed.
type UnknownDeployment struct {
	Node        NodeID
	ID          DeploymentID
	Name        string
	Project     string
	Environment string
	// Phase is the agent's phase of the deployment: agents use the words of a status.
	Phase   DeploymentStatus
	FoundAt time.Time
	// PurgedAt is set once an admin decided that it goes.
	PurgedAt *time.Time
	// Run and Generation are what the node works on.
	Run        RunID
	Generation int64
	// Disputed: there is a row, and it contradicts the node, for that Reason.
	// Status, RowRun and RowGeneration are what the row says now.
	Disputed      bool
	Reason        string
	Status        DeploymentStatus
	RowRun        RunID
	RowGeneration int64
}

// RecordedDeployment is what is written about a deployment that a node remembers, or has
// to have.
type RecordedDeployment struct {
	ID          DeploymentID
	Name        string
	Project     string
	Environment string
	Generation  int64
	Status      DeploymentStatus
	Node        NodeID
	// Run is the latest.
	Run RunID
	// Relocating: two nodes have to do with it.
	Relocating bool
}

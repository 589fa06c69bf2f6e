package controlplane

import "time"

// KeepUnknown is how long nothing that the database does not know is removed
// from a node after one such deployment was found there: not even what nobody
// can put a name to. Named ones stay until an admin decides, however long.
const KeepUnknown = 24 * time.Hour

// UnknownDeployment is one that a node runs and the database has no row of,
// since it was restored from a backup that is older.
type UnknownDeployment struct {
	Node        NodeID
	ID          DeploymentID
	Name        string
	Project     string
	Environment string
	// Phase is where it stands, in the agent's words.
	Phase   string
	FoundAt time.Time
	// PurgedAt is set once an admin decided that it goes.
	PurgedAt *time.Time
}

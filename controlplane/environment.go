package controlplane

// Environment is a set of nodes with a domain.
type Environment struct {
	ID   EnvironmentID
	Name string
	// Domain is the base: hosts are service.deployment.environment.domain.
	Domain      string
	Description string
	// Restricted environments need a grant of their own.
	Restricted bool
	// CleanupAfterHours is how long a deployment may stay without activity;
	// zero is for ever. A project may say otherwise.
	CleanupAfterHours int
	// IgnoreVisits makes visits to a deployment's URLs no activity.
	IgnoreVisits bool
	// IgnorePresence stores nobody's last request to a deployment's URLs.
	IgnorePresence bool
	// Placement is what every deployment in it asks of nodes.
	Placement Placement
	// Capacity is how room on its nodes is counted.
	Capacity CapacityRules
	// Nodes counts the environment's nodes, Online those with a live link.
	Nodes       int
	NodesOnline int
}

// Suffix is the part of a host after service.deployment.
func (e Environment) Suffix() string { return e.Name + "." + e.Domain }

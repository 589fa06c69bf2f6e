package controlplane

import "time"

// BuildFacts is what a deployment runs, and why there is one: what a tester wants to know of the
// address in front of them.
type BuildFacts struct {
	Deployment  DeploymentID
	Name        string
	Project     string
	Environment string
	Status      DeploymentStatus
	CreatedBy   string
	CreatedAt   time.Time
	// Review is the pull request, or the pushed branch, that it was made for; nil if a person
	// or a program made it.
	Review *ReviewFacts
	// Run and PipelineVersion are the latest run's.
	Run             int
	PipelineVersion int
	// ExpiresAt is nil for one that stays until it is removed.
	ExpiresAt *time.Time
	Services  []ServiceBuild
	// Visitors made a request within the last minutes.
	Visitors []Visitor
	// Verdict is what QA says of these images; nil if nothing stands.
	Verdict *Verdict
}

// ReviewFacts name what a rule made a deployment for.
type ReviewFacts struct {
	Number int
	Title  string
	Link   string
	Branch string
	Commit string
}

// ServiceBuild is a service's version, with what its image says of its build.
type ServiceBuild struct {
	ServiceVersion
	Branch string
	Commit string
	// BuiltAt is nil if it is not known.
	BuiltAt *time.Time
	// Newer is the newest tag of the branch, if that is another one.
	Newer string
}

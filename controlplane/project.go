package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Project ties services and plugins together by a pipeline.
type Project struct {
	ID          ProjectID
	Name        string
	Description string
	// Resources limit a whole deployment; the sum over its services may not
	// pass them.
	Resources pipeline.Resources
	// Cleanup replaces the environment's, if given.
	Cleanup Cleanup
	// Placement is added to the environment's.
	Placement Placement
	// Environments are where it may be deployed; none is everywhere.
	Environments []EnvironmentID
	// EnvironmentNames are their names, in the same order.
	EnvironmentNames []string
	// Version is the current pipeline version; 0 before the first save.
	Version int
	// Deployments counts those that still exist.
	Deployments int
}

// Cleanup is after how many hours without activity a deployment is removed.
type Cleanup struct {
	// Given is false if another level decides.
	Given bool
	// Hours is zero for never.
	Hours int
}

// PipelineVersion is a saved pipeline. It never changes.
type PipelineVersion struct {
	Project   ProjectID
	Version   int
	Pipeline  pipeline.Pipeline
	Digest    string
	Note      string
	CreatedBy string
	CreatedAt time.Time
}

// PipelineUser is a deployment that runs some version.
type PipelineUser struct {
	Deployment    DeploymentID
	Name          string
	Status        DeploymentStatus
	EnvironmentID EnvironmentID
	Environment   string
	// Restricted is the environment's.
	Restricted bool
	Version    int
}

package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Template is what people begin a deployment of a project with.
type Template struct {
	Name        string `json:"-"`
	Description string `json:"description,omitempty"`
	// Environment is empty where the person chooses.
	Environment string `json:"environment,omitempty"`
	// Versions are tags by step.
	Versions map[string]string `json:"versions,omitempty"`
	// Input are values of fields that the pipeline declares.
	Input map[string]any `json:"input,omitempty"`
	// DeploymentName is proposed.
	DeploymentName string    `json:"deployment_name,omitempty"`
	Wait           bool      `json:"wait,omitempty"`
	Priority       *int      `json:"priority,omitempty"`
	UpdatedBy      string    `json:"-"`
	UpdatedAt      time.Time `json:"-"`
}

// DeploymentSnapshot is the last state of a deployment's services, with their last lines.
type DeploymentSnapshot struct {
	TakenAt  time.Time
	Services map[string]ServiceSnapshot
}

// ServiceSnapshot is one service in a keepsake.
type ServiceSnapshot struct {
	Health   pipeline.Health `json:"health"`
	Detail   string          `json:"detail,omitempty"`
	Restarts int             `json:"restarts,omitempty"`
	Log      []string        `json:"log,omitempty"`
}

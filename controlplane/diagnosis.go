package controlplane

import "time"

// LogLevel is the level of a component's log while it differs from the settings.
type LogLevel struct {
	// Node is the name of the node whose agent it is of; empty for control plane and ingress.
	Node, Component, Level string
	Until                  time.Time
	SetBy                  string
	SetAt                  time.Time
}

// DiagnosisFile is something that a process knows of itself, for a support archive.
type DiagnosisFile struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

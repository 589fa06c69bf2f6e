// Package pipeline is the pure model of what a deployment runs: a graph of
// services, plugins and approvals, and the references between them.
//
// References are evaluated at two moments. At create, the control plane fills
// in versions; what is left refers to steps, secrets and the deployment, and
// the agent resolves it when the step starts. Values are never scanned again
// after they were filled in, so an output that contains ${{ stays text.
//
// The package knows no clock, no I/O and nobody else of ours.
package pipeline

// Package pipeline is the pure model of what a deployment runs: a graph of services,
// plugins and approvals, and the references between them.
//
// References are evaluated at two moments. At create, the control plane fills in versions;
// the rest refers to steps, secrets and the deployment, and the agent resolves it when the
// step starts. Values are never scanned again once they are filled in, so an output that
// contains ${{ stays text.
//
// The package has no clock, does no I/O and imports nothing else of this module.
package pipeline

// Package controlplane holds the nouns of the control plane: types, states
// and errors, with the rules that need nothing but the values themselves.
// Subfolders hold one verb or one technology each and import this package,
// never the reverse.
//
//	UI ──▶ api ──▶ lifecycle ──▶ postgres ──notify──▶ fleet ──▶ agent    orders
//	UI ◀── api ◀──notify── postgres ◀── lifecycle ◀── fleet ◀── agent    reports
//
// The words, the same everywhere:
//
//	node         a machine we know; the agent is the process on it
//	environment  a set of nodes with a domain
//	service      something users deploy: registry, image, tag mode
//	plugin       a container image that implements a component
//	project      services, plugins and settings tied together by a pipeline
//	version      an immutable saved pipeline of a project
//	deployment   one running copy of a project
//	run          one attempt to create, or remove, a deployment
//	step         one node of the graph in one run
//	team         people with the same grants; a grant gives read or full
//	             access to a project or an environment
//	thumbprint   SHA-256 of an agent's certificate, in hex
//	sealed       encrypted with the master key, bound to its row
package controlplane

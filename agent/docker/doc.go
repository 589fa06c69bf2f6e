// Package docker is the agent's Runtime on the Docker Engine, and the only
// package that knows the engine's client.
//
// Every object has a deterministic name and labels, so that an object from
// before a lost answer or a crash is found again: adopted if it was made from
// the same specification, replaced if not. Nothing is kept in memory that
// could not be asked again.
//
// Docker is composed of parts: engine (the clients, names and paths that all need), containers,
// networks and images (single objects), and on top of them relays, services, probes, plugins,
// volumes, logs, vitals, isolation and so on, each with the fields that only it needs.
// assembleParts connects them.
//
// Networks. Each deployment has one, with an explicit subnet cut from the installation's own range,
// because the engine's default pools are used up at about 30 networks. Nothing is published on the
// host, ever: Docker's isolation between networks does not cover published ports. The agent reaches
// services through the deployment's relay (package sidecar).
//
// Services run with the capabilities that ordinary images need to drop their own privileges (see
// serviceCapabilities), never with new ones; their logs go to the "local" driver with a size cap.
// There is no restart policy: after a kill of the engine, policies bring back what the agent may
// want gone, and the agent reconciles anyway. Relays alone restart, since they hold no state.
//
// Plugins run without capabilities, with a read-only root, no log on disk and, unless the step
// asks for it, no network. Their containers are created before the run needs them (precreated), and
// removed after the result has been reported.
//
// Secrets reach plugins on stdin and services through the init role of the
// sidecar, from a folder in tmpfs. Neither the engine's files nor ours hold
// them. Rendered files live in the same folder.
package docker

// Package sidecar is the static helper that runs inside a deployment, and the agent's side
// of talking to it. One small binary has these roles.
//
// The relay is an unprivileged container on a deployment's network. It listens on a unix socket in
// a folder that only it and the agent share. For each request it dials service:port by Docker's DNS
// and passes the connected socket back (SCM_RIGHTS), so that the agent is on no tenant's network
// and the bytes take no extra hop. The caller decides what may be dialled: the relay dials
// single-label names only, and resolves nothing outside its network. Relays that an earlier release
// started are called "gate" in their label, container name and folder; they keep working.
//
// The init is the first process of a service that has secrets. It reads them from a file in
// tmpfs, puts them into the environment and executes the image's own entrypoint. So the
// container's configuration, which the engine keeps on disk, contains no secrets.
//
// The sandbox role is the first process of a plugin's container, which is started before the
// plugin's turn: it waits for the go signal, runs the plugin, and says at once how it ended.
//
// The run-plugin role does that on Kubernetes, over an exec stream, and ends a plugin whose agent
// has not been heard from for a while.
//
// Inside runs in the service's container to execute a user's command or to copy a file. It
// exchanges frames on stdin and stdout, so that everything it started ends with the
// connection, whichever side was killed.
//
// The package uses the standard library only, to keep the binary small and a relay below 5 MiB of
// memory.
package sidecar

// Package sidecar is the static helper that runs inside a deployment, and the
// agent's side of talking to it. One small binary has several roles.
//
// The gate is a container without privileges on a deployment's network. It
// listens on a unix socket in a folder that only it and the agent share. For
// each request it dials service:port by Docker's DNS and hands the connected
// socket back (SCM_RIGHTS), so that the agent is on no tenant's network and
// the bytes take no extra hop. The caller decides what may be dialled: the
// gate dials single-label names only, and resolves nothing outside its
// network.
//
// The init is the first process of a service that has secrets. It reads them
// from a file in tmpfs, puts them into the environment and becomes the image's
// own entrypoint. Nothing secret is therefore in the container's
// configuration, which the engine keeps on disk. A readiness command of such a
// service goes through init too, so that it sees the same variables.
//
// The check runs an image's own health check with the same variables. It passes
// the exit code on and keeps the output in memory, because the engine writes
// whatever a health check prints to its disk.
//
// Inside is what a person's command, or a file that is copied, goes through: it
// runs in the service's container and speaks in frames on stdin and stdout, so
// that whatever it started ends with the connection, whoever was killed on the way.
//
// The package uses the standard library only, to keep the binary small and a
// gate below 5 MiB of memory.
package sidecar

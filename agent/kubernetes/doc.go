// Package kubernetes runs deployments on a Kubernetes cluster: it is a second agent.Runtime,
// beside the one on a Docker Engine. One agent is one node of ours, whatever number of machines
// the cluster has.
//
// A deployment is a namespace. What the contract calls its network is the namespace itself, and
// its relay is the network policy that admits the agent, since the agent dials pods directly. Only
// mails, which containers send, have a pod of their own (mail.go). A service is a Deployment with a
// headless Service of its step's key, so that names and ports inside a deployment are those of
// Docker. A job is a bare pod, and so is the sandbox of a plugin. A stopped service is one without
// replicas.
//
// Kubernetes mounts nothing from the agent's machine, shows nobody how an image is started, and
// writes everything that a container prints to a disk. From these follow three differences from
// Docker. The first container of a service's pod is our helper: it places itself beside the
// service, and receives secrets and files over an exec stream into a volume in memory (see
// delivery.go). The agent reads entrypoints from the registry (image.go). And a plugin is
// started over an exec stream in a pod that only waits, so that neither its input nor its answer
// is stored anywhere (plugin.go).
//
// The package does not use client-go's clientset, which would link and register every API there
// is: client.go has what is needed of five.
package kubernetes

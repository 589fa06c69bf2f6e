package server

import (
	"fmt"
	"os/user"
	"strconv"
)

// AgentSettings is one node's agent.
type AgentSettings struct {
	Listen string `description:"Address the control plane dials."`
	// Websocket is for a reverse proxy in front of the agent, besides Listen.
	Websocket string `description:"Address where a reverse proxy passes WebSockets; empty is off."`

	Connect string `description:"URL of the control plane, wss://…, to dial it; nothing listens."`
	Proxy   string `description:"HTTP proxy to the control plane; empty means HTTPS_PROXY."`
	Token   string `description:"Token from 'add node'; AGENT_TOKEN works too."`
	// Control, Provisioning and Address are for the first start of a machine that enrols itself.
	Control      string               `description:"URL of the control plane to enrol at."`
	Provisioning ProvisioningSettings `description:"Enrols a machine without a token of its own."`
	Address      string               `description:"host:port under which the agent is dialed."`
	// CA and Fingerprint are how an agent that enrols or dials knows the control plane.
	CA          string `description:"File of authorities to trust besides the system's."`
	Fingerprint string `description:"Certificate of the control plane instead, sha256:…."`

	// Runtime chooses what deployments run on; the settings of the other one are not used.
	Runtime    string             `description:"What deployments run on: docker or kubernetes."`
	Kubernetes KubernetesSettings `description:"The cluster, with the runtime kubernetes."`

	Data    string `description:"Folder for certificate, journal and state."`
	Run     string `description:"Folder on a tmpfs for what may never reach a disk."`
	Docker  string `description:"Docker Engine; empty means DOCKER_HOST or its usual socket."`
	Subnets string `description:"Address range deployments' networks are cut from."`
	OCI     string `description:"OCI runtime of containers, such as crun; empty is the engine's."`
	Guard   bool   `description:"Keep containers from link-local addresses and the agent's port."`
	Probe   string `description:"How often networks are tried for isolation; 0s is never."`
	Grace   string `description:"How long a service may take to end before it is killed."`
	Floor   string `description:"Free disk below which unused images go: 10GiB, 10%, 0 is never."`
	// Sockets and Ingress are for an ingress on the same machine.
	Sockets string `description:"Folder of a socket for the ingress on this machine; empty is off."`
	Ingress string `description:"User or user id of that ingress, unless root or the agent's own."`
	// Offers is for nodes that decide themselves what they take.
	Offers    OfferSettings      `description:"Who decides about deployments on a reactive node."`
	Sandboxes SandboxSettings    `description:"Containers started before their step's turn."`
	Starting  StartSettings      `description:"Services that are not ready yet."`
	Mails     CaughtMailSettings `description:"Mails that deployments send to mail:1025."`
}

// ingressUser is agent.ingress as a number; -1 without one.
func (a AgentSettings) ingressUser() (int, error) {
	if a.Ingress == "" {
		return -1, nil
	}
	if id, err := strconv.ParseUint(a.Ingress, 10, 31); err == nil {
		return int(id), nil
	}
	known, err := user.Lookup(a.Ingress)
	if err != nil {
		return -1, fmt.Errorf("setting agent.ingress: this machine knows no user %q; write the user's "+
			"number, such as 65532", a.Ingress)
	}
	return strconv.Atoi(known.Uid)
}

func (a AgentSettings) checkIngress() error {
	_, err := a.ingressUser()
	return err
}

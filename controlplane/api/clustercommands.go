package api

import (
	"net"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// Machines of a cluster open ports of this range for Services, unless somebody changed it.
const firstNodePort, lastNodePort = 30000, 32767

// clusterCommands are the line to run for a node that is a Kubernetes cluster. The token is in a
// Secret that is read once; docs/kubernetes.md explains each part. Each node has a namespace of its
// own, since one cluster may be several nodes.
func (s *server) clusterCommands(
	n controlplane.Node, token controlplane.Plain,
) KubernetesCommands {
	name := "nullops-" + n.Name
	const apply = " --dry-run=client -o yaml | kubectl apply -f - && "
	first := "kubectl create namespace " + name + apply + "kubectl create secret generic " +
		"nullops-agent-token --namespace " + name + " --from-literal=AGENT_TOKEN=" +
		token.Reveal() + apply
	then := ""
	if n.Thumbprint != "" {
		// It is there, and has to read the new token.
		then = " && kubectl rollout restart deployment/" + name + " --namespace " + name
	}
	var chart, flags strings.Builder
	for _, o := range append([]clusterOption{{"image", "image", s.agentImage()}},
		s.clusterWay(n)...) {
		chart.WriteString(" --set " + o.value + "=" + o.is)
		flags.WriteString(" --" + o.flag + "=" + o.is)
	}
	return KubernetesCommands{
		Helm: first + "helm upgrade --install " + name + " deploy/helm/nullops-agent --namespace " +
			name + chart.String() + then,
		Kubectl: first + "nullops agent manifest --name=" + name + flags.String() +
			" | kubectl apply -f -" + then,
	}
}

// clusterOption is a value of the chart, and the flag of 'nullops agent manifest' for it.
type clusterOption struct{ value, flag, is string }

// clusterWay is how the agent's pod is reached: through a Service at the node's address, or not at
// all.
func (s *server) clusterWay(n controlplane.Node) []clusterOption {
	if n.Connect == controlplane.ConnectAgent {
		way := []clusterOption{{"connect", "connect", s.agentURL()}}
		if s.Fingerprint != "" {
			way = append(way, clusterOption{"fingerprint", "fingerprint", s.Fingerprint})
		}
		return way
	}
	if strings.Contains(n.Address, "://") {
		return []clusterOption{{"websocket", "websocket", "true"}}
	}
	host, text, err := net.SplitHostPort(n.Address)
	port, bad := strconv.Atoi(text)
	if err != nil || bad != nil {
		host, port = n.Address, 5000
	}
	switch {
	case strings.HasSuffix(host, ".svc") || strings.Contains(host, ".svc."):
		return []clusterOption{{"service.port", "port", strconv.Itoa(port)}}
	case port >= firstNodePort && port <= lastNodePort:
		return []clusterOption{{"service.type", "service", "NodePort"},
			{"service.nodePort", "node-port", strconv.Itoa(port)}}
	}
	return []clusterOption{{"service.type", "service", "LoadBalancer"},
		{"service.port", "port", strconv.Itoa(port)}}
}

func toCluster(c controlplane.Cluster) *NodeCluster {
	return &NodeCluster{Version: c.Version, Network: ptrOrNil(c.Network),
		MachineCount: c.MachineCount,
		Machines: convertAll(c.Machines, func(m controlplane.Machine) ClusterMachine {
			return ClusterMachine{Name: m.Name, State: ClusterMachineState(m.State),
				Version: m.Version, Cpu: m.CPU, Memory: m.Memory, Detail: ptrOrNil(m.Detail)}
		}),
		StorageClasses: convertAll(c.StorageClasses,
			func(one controlplane.StorageClass) StorageClass {
				return StorageClass{Name: one.Name, Provisioner: one.Provisioner,
					Default: one.Default}
			})}
}

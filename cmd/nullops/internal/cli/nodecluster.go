package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

// engineName says what deployments of a node run on: Docker 28.5.1, or Kubernetes 1.34.3.
func engineName(i *apiclient.Inventory) string {
	switch {
	case i == nil:
		return ""
	case i.Cluster != nil:
		return "Kubernetes " + strings.TrimPrefix(i.Cluster.Version, "v")
	}
	return "Docker " + i.EngineVersion
}

// engineRows describe the machine and its engine, or the cluster and its machines.
func engineRows(i apiclient.Inventory) [][]string {
	c := i.Cluster
	if c == nil {
		return [][]string{
			{"machine", fmt.Sprintf("%s, %s, kernel %s, %s", i.Hostname, i.Os, i.Kernel, i.Arch)},
			{"engine", fmt.Sprintf("%s, API %s, %s, storage %s, cgroup %s (%s)",
				engineName(&i), i.ApiVersion, runtimeText(valueOrZero(i.RuncVersion)),
				valueOrZero(i.StorageDriver), valueOrZero(i.CgroupVersion),
				valueOrZero(i.CgroupDriver))},
		}
	}
	rows := [][]string{
		{"cluster", fmt.Sprintf("%s, %s, %s", i.Hostname, engineName(&i), i.Arch)},
		{"network", networkText(*c)},
		{"storage", storageText(c.StorageClasses)},
	}
	for _, m := range c.Machines {
		text := fmt.Sprintf("%s, kubelet %s, %s, %s of memory",
			strings.ReplaceAll(string(m.State), "_", " "), strings.TrimPrefix(m.Version, "v"),
			quantity.FormatCores(m.Cpu), quantity.FormatBytes(m.Memory))
		if m.Detail != nil {
			text += ": " + *m.Detail
		}
		rows = append(rows, []string{"machine " + m.Name, text})
	}
	if more := c.MachineCount - len(c.Machines); more > 0 {
		rows = append(rows, []string{"machines", fmt.Sprintf("%d more", more)})
	}
	return rows
}

func networkText(c apiclient.NodeCluster) string {
	if c.Network == nil {
		return "a plugin that is not recognized"
	}
	return *c.Network
}

func storageText(all []apiclient.StorageClass) string {
	if len(all) == 0 {
		return "no StorageClass"
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name + " (" + one.Provisioner + ")"
		if one.Default {
			names[i] = one.Name + " (" + one.Provisioner + ", default)"
		}
	}
	return strings.Join(names, ", ")
}

// printClusterEnrolment prints the line for a cluster, with Helm and without it.
func printClusterEnrolment(w io.Writer, e apiclient.NodeEnrolment) error {
	if e.Kubernetes == nil {
		return errors.New("node " + e.Node.Name + " was added, but this control plane is too old for " +
			"nodes on Kubernetes: upgrade it, and get the line with 'nullops node rotate " +
			e.Node.Name + "'")
	}
	_, err := fmt.Fprintf(w, "Node %s. Run one of these lines as an administrator of the cluster; "+
		"the token is shown only now.\n\nWith Helm, in a checkout of this release:\n\n%s\n\n"+
		"Without Helm:\n\n%s\n\nThe agent prints its certificate's thumbprint: compare it with "+
		"'nullops node list'.\n", e.Node.Name, e.Kubernetes.Helm, e.Kubernetes.Kubectl)
	return err
}

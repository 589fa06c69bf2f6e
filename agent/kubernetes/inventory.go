package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

// inventory describes the cluster as one node of ours.
type inventory struct {
	*base
	rights *rights
}

// Inventory adds up the machines that take pods, and says what this runtime cannot do.
func (iv *inventory) Inventory(ctx context.Context) (wire.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	version, err := iv.serverVersion(ctx)
	if err != nil {
		return wire.Inventory{}, fmt.Errorf("describe the cluster: %w", wrapQueryErr(err))
	}
	machines, err := iv.usableMachines(ctx)
	if err != nil {
		return wire.Inventory{}, fmt.Errorf("describe the cluster: %w", wrapQueryErr(err))
	}
	inv := wire.Inventory{Hostname: iv.clusterName(), EngineVersion: "Kubernetes " +
		"" + version.GitVersion,
		APIVersion: "v1", Subnets: maxNamespaces}
	for _, m := range machines {
		inv.CPU += float64(m.Status.Allocatable.Cpu().MilliValue()) / 1000
		inv.Memory += m.Status.Allocatable.Memory().Value()
		inv.Disk += m.Status.Allocatable.StorageEphemeral().Value()
		inv.GPUs = append(inv.GPUs, iv.machineGPUs(m)...)
	}
	if len(machines) > 0 {
		i := machines[0].Status.NodeInfo
		inv.OS, inv.Kernel, inv.Arch = i.OSImage, i.KernelVersion, i.Architecture
		inv.RuncVersion, inv.StorageDriver = i.ContainerRuntimeVersion, "of the cluster"
	}
	inv.Checks = iv.checkCluster(ctx, machines)
	facts, err := iv.readFacts(ctx, version.GitVersion)
	if err != nil {
		return wire.Inventory{}, fmt.Errorf("describe the cluster: %w", wrapQueryErr(err))
	}
	inv.Cluster, inv.Checks = &facts.cluster, append(inv.Checks, facts.checks()...)
	return inv, nil
}

// machineGPUs are those that a machine hands out. The cluster knows their number only; their model
// is what NVIDIA's feature discovery says, if it runs.
func (iv *inventory) machineGPUs(m corev1.Node) (all []wire.GPU) {
	n := m.Status.Allocatable[corev1.ResourceName(iv.config.GPUResource)]
	model, mib := m.Labels["nvidia.com/gpu.product"], int64(0)
	if _, err := fmt.Sscan(m.Labels["nvidia.com/gpu.memory"], &mib); err != nil {
		mib = 0
	}
	for i := range int(n.Value()) {
		all = append(all, wire.GPU{Index: i, UUID: fmt.Sprintf("%s/%d", m.Name, i),
			Model: cmp.Or(model, iv.config.GPUResource), Memory: mib << 20})
	}
	return all
}

// maxNamespaces stands for "as many as wanted": a cluster has no range of addresses to run out of.
const maxNamespaces = 1 << 16

// usableMachines are those that pods of ours may run on.
func (b *base) usableMachines(ctx context.Context) (all []corev1.Node, err error) {
	found, err := b.machines.list(ctx, "", selectorText(b.config.MachineSelector))
	for _, m := range found {
		if !m.Spec.Unschedulable && isReady(m) {
			all = append(all, m)
		}
	}
	return all, err
}

func isReady(m corev1.Node) bool {
	for _, c := range m.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// clusterName is the API server's host, the only name that every cluster has.
func (iv *inventory) clusterName() string {
	u, err := url.Parse(iv.cluster.config.Host)
	if err != nil || u.Hostname() == "" {
		return "kubernetes"
	}
	return u.Hostname()
}

func (iv *inventory) checkCluster(ctx context.Context, machines []corev1.Node) []wire.Check {
	all := []wire.Check{{ID: wire.CheckEngine, Severity: wire.SeverityOK,
		Detail: fmt.Sprintf("the API server answers; %d machines take pods", len(machines))}}
	if len(machines) == 0 {
		all[0] = wire.Check{ID: wire.CheckEngine, Severity: wire.SeverityCritical,
			Detail: "no machine of the cluster is ready and takes pods",
			Remedy: "kubectl get nodes shows why; uncordon one, or change " +
				"agent.kubernetes.machines"}
	}
	return append(all, iv.checkRights(ctx), iv.checkStorage(ctx))
}

// checkStorage says which StorageClass volumes get.
func (iv *inventory) checkStorage(ctx context.Context) wire.Check {
	class, err := iv.findClass(ctx)
	switch {
	case errors.Is(err, agent.ErrUnavailable):
		return wire.Check{ID: "storage", Severity: wire.SeverityUnknown, Detail: err.Error()}
	case err != nil:
		return wire.Check{ID: "storage", Severity: wire.SeverityWarning,
			Detail: "services with volumes cannot be started: " + err.Error(),
			Remedy: "kubectl get storageclasses shows what there is; set " +
				"agent.kubernetes.storageclass"}
	case class.ReclaimPolicy != nil && *class.ReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
		return wire.Check{ID: "storage", Severity: wire.SeverityWarning,
			Detail: "the StorageClass " + class.Name + " keeps the data of volumes whose " +
				"deployment was deleted: its reclaimPolicy is " + string(*class.ReclaimPolicy),
			Remedy: "set agent.kubernetes.storageclass to a class with the reclaimPolicy Delete"}
	}
	return wire.Check{ID: "storage", Severity: wire.SeverityOK,
		Detail: "volumes get the StorageClass " + class.Name}
}

func (iv *inventory) checkRights(ctx context.Context) wire.Check {
	missing, err := iv.rights.findMissing(ctx)
	switch {
	case err != nil:
		return wire.Check{ID: "rights", Severity: wire.SeverityUnknown,
			Detail: "the cluster does not say what the agent may do: " + err.Error()}
	case len(missing) > 0:
		return wire.Check{ID: "rights", Severity: wire.SeverityCritical,
			Detail: missingRightsError(missing).Error(),
			Remedy: "grant the ClusterRole of docs/kubernetes.md to the agent's account"}
	}
	return wire.Check{ID: "rights", Severity: wire.SeverityOK,
		Detail: "the agent's account has every right that it needs"}
}

func selectorText(labels map[string]string) string {
	var all []string
	for key, value := range labels {
		all = append(all, key+"="+value)
	}
	return strings.Join(all, ",")
}

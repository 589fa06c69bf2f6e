package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

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
	machines, err := iv.listMachines(ctx)
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

// maxNamespaces stands for "as many as wanted": a cluster has no range of addresses to run out of.
const maxNamespaces = 1 << 16

// listMachines are those that pods of ours may run on.
func (iv *inventory) listMachines(ctx context.Context) (all []corev1.Node, err error) {
	found, err := iv.machines.list(ctx, "", selectorText(iv.config.MachineSelector))
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
	return append(all, iv.checkRights(ctx), wire.Check{ID: "isolation",
		Severity: wire.SeverityWarning,
		Detail: "each deployment has network policies, but whether this cluster enforces them " +
			"is not tried yet",
		Remedy: "see to it that the cluster's network plugin enforces NetworkPolicy; some store " +
			"it and do nothing"}, wire.Check{ID: "features", Severity: wire.SeverityWarning,
		Detail: "on Kubernetes, NullOps cannot do these yet: volumes, GPUs, images of private " +
			"registries, health checks of images, stop signals, users by name, test reports of " +
			"jobs, measurements, moving; a step that asks for one fails and says so",
		Remedy: "deploy what needs them to a node with Docker"})
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

// Vitals names the services, whose health the agent adds. Nothing is measured yet, which the check
// "features" says; the disk counts as free as it is large, so that its floor stops nothing.
func (iv *inventory) Vitals(
	ctx context.Context, services []agent.ServiceSpec,
) (wire.Vitals, error) {
	v := wire.Vitals{At: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	machines, err := iv.listMachines(ctx)
	if err != nil {
		return v, fmt.Errorf("measure the cluster: %w", wrapQueryErr(err))
	}
	for _, m := range machines {
		v.DiskFree += m.Status.Allocatable.StorageEphemeral().Value()
	}
	for _, s := range services {
		v.Services = append(v.Services, wire.ServiceVitals{Deployment: s.Deployment, Step: s.Step,
			Health: wire.HealthUnknown})
	}
	return v, nil
}

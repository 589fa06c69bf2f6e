package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent/wire"
)

// maxMachines bounds the machines that an inventory names. All of them are counted.
const maxMachines = 100

// ListRights names all rights that the account of an agent in this namespace needs, such as
// "create pods/exec". The charts and docs/kubernetes.md are compared with them.
func ListRights(namespace string) []string {
	return rightNames(Config{AgentNamespace: namespace, Lost: func(error) {}}.neededRights())
}

func rightNames(all []right) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.String()
	}
	return names
}

// FindMissingRights asks the cluster which of them the account lacks. Unlike New, it needs none.
func FindMissingRights(ctx context.Context, c Config) ([]string, error) {
	config, err := loadClusterConfig(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	api, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	c.Lost = func(error) {} // as in an agent, which holds a Lease in its namespace
	missing, err := (&rights{base: &base{cluster: api, config: c}}).findMissing(ctx)
	return rightNames(missing), err
}

// clusterFacts are what a cluster consists of.
type clusterFacts struct {
	cluster wire.Cluster
	// unready names the machines that take no pods although nobody cordoned them.
	unready []string
}

// readFacts describes the cluster. What it cannot ask is left out, since an inventory without it
// is better than none.
func (iv *inventory) readFacts(ctx context.Context, version string) (clusterFacts, error) {
	f := clusterFacts{cluster: wire.Cluster{Version: version}}
	machines, err := iv.machines.list(ctx, "", selectorText(iv.config.MachineSelector))
	if err != nil {
		return f, err
	}
	slices.SortFunc(machines, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range machines {
		one := describeMachine(m)
		if one.State == wire.MachineNotReady {
			f.unready = append(f.unready, m.Name+" ("+one.Detail+")")
		}
		if len(f.cluster.Machines) < maxMachines {
			f.cluster.Machines = append(f.cluster.Machines, one)
		}
	}
	f.cluster.MachineCount = len(machines)
	f.cluster.Network = findNetwork(machines, iv.listGroups(ctx))
	f.cluster.StorageClasses = iv.listStorageClasses(ctx)
	return f, nil
}

func describeMachine(m corev1.Node) wire.Machine {
	one := wire.Machine{Name: m.Name, State: wire.MachineReady,
		Version: m.Status.NodeInfo.KubeletVersion,
		CPU:     float64(m.Status.Allocatable.Cpu().MilliValue()) / 1000,
		Memory:  m.Status.Allocatable.Memory().Value()}
	switch {
	case !isReady(m):
		one.State, one.Detail = wire.MachineNotReady, explainUnready(m)
	case m.Spec.Unschedulable:
		one.State = wire.MachineCordoned
	}
	return one
}

// explainUnready is the cluster's own reason.
func explainUnready(m corev1.Node) string {
	for _, c := range m.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		for _, text := range []string{c.Message, c.Reason} {
			if text != "" {
				return text
			}
		}
	}
	return "its kubelet has not said that it is ready"
}

// networkSigns are what network plugins leave on machines (the beginning of an annotation's or a
// label's name), and the groups of the objects that they define. A cluster has no other way to
// name its plugin. The more specific ones come first: some plugins use parts of others.
func networkSigns() []networkSign {
	return []networkSign{
		{"Calico", "projectcalico.org/", "crd.projectcalico.org"},
		{"Cilium", "network.cilium.io/", "cilium.io"},
		{"Antrea", "node.antrea.io/", "crd.antrea.io"},
		{"Kube-OVN", "ovn.kubernetes.io/", "kubeovn.io"},
		{"OVN-Kubernetes", "k8s.ovn.org/", "k8s.ovn.org"},
		{"kube-router", "kube-router.io/", ""},
		{"Amazon VPC", "vpc.amazonaws.com/", "vpcresources.k8s.aws"},
		{"Flannel", "flannel.alpha.coreos.com/", ""},
	}
}

type networkSign struct{ plugin, key, group string }

// findNetwork names the network plugin; empty if nothing tells.
func findNetwork(machines []corev1.Node, groups []string) string {
	for _, s := range networkSigns() {
		if s.group != "" && slices.Contains(groups, s.group) {
			return s.plugin
		}
		for _, m := range machines {
			for _, keys := range []map[string]string{m.Annotations, m.Labels} {
				for key := range keys {
					if strings.HasPrefix(key, s.key) {
						return s.plugin
					}
				}
			}
		}
	}
	return ""
}

// listGroups lists the API groups of the cluster, which every account may see.
func (iv *inventory) listGroups(ctx context.Context) (names []string) {
	var l metav1.APIGroupList
	if readJSON(iv.core.Get().AbsPath("/apis").SetHeader("Accept", "application/json").
		Do(ctx), &l) != nil {
		return nil
	}
	for _, g := range l.Groups {
		names = append(names, g.Name)
	}
	return names
}

func (iv *inventory) listStorageClasses(ctx context.Context) (all []wire.StorageClass) {
	found, err := iv.classes.list(ctx, "", "")
	if err != nil {
		return nil
	}
	for _, c := range found {
		all = append(all, wire.StorageClass{Name: c.Name, Provisioner: c.Provisioner,
			Default: c.Annotations[defaultClassMark] == "true"})
	}
	slices.SortFunc(all, func(a, b wire.StorageClass) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// checks say what of the facts a person should know.
func (f clusterFacts) checks() []wire.Check {
	return []wire.Check{f.checkVersion(), f.checkMachines()}
}

// client-go works with two minor versions in both directions of its own.
const oldestMinor, newestMinor = 32, 36

func (f clusterFacts) checkVersion() wire.Check {
	c := wire.Check{ID: "cluster-version", Severity: wire.SeverityOK,
		Detail: "the cluster runs Kubernetes " + strings.TrimPrefix(f.cluster.Version, "v")}
	minor, known := minorVersion(f.cluster.Version)
	if known && minor >= oldestMinor && minor <= newestMinor {
		return c
	}
	c.Severity = wire.SeverityWarning
	c.Detail += fmt.Sprintf(", and this agent is made for 1.%d to 1.%d", oldestMinor, newestMinor)
	c.Remedy = "upgrade the cluster"
	if known && minor > newestMinor {
		c.Remedy = "upgrade NullOps"
	}
	return c
}

func minorVersion(version string) (minor int, known bool) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(strings.TrimRight(text, "+"))
	return minor, err == nil && major == "1"
}

func (f clusterFacts) checkMachines() wire.Check {
	if len(f.unready) == 0 {
		return wire.Check{ID: "machines", Severity: wire.SeverityOK,
			Detail: fmt.Sprintf("every machine is ready: %d", f.cluster.MachineCount)}
	}
	named := f.unready[:min(len(f.unready), 3)]
	text := strings.Join(named, ", ")
	if more := len(f.unready) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return wire.Check{ID: "machines", Severity: wire.SeverityWarning,
		Detail: fmt.Sprintf("%d of %d machines are not ready: %s", len(f.unready),
			f.cluster.MachineCount, text),
		Remedy: "'kubectl get nodes' shows them. What ran there is started on the others, but for " +
			"services with volumes: if a machine is off for good, say so with 'nullops node give-up " +
			"NODE MACHINE'"}
}

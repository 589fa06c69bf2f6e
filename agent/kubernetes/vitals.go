package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

// vitals measures the machines and the services. The kubelets' own summaries say the most, traffic
// too, and are read if the agent's account may: the right nodes/proxy lets it do far more, so it is
// not among those that the agent needs. Otherwise CPU and memory are those of the API
// metrics.k8s.io, if a metrics server is installed.
type vitals struct {
	*base
	mu sync.Mutex
	// noSummary: the account was found not to have the right. It is asked once.
	noSummary bool
	// flows are those of the last reading.
	flows map[podName]podFlow
}

// podName identifies a pod.
type podName struct{ namespace, name string }

// machineTraffic stands for all machines together in the place of a pod.
var machineTraffic = podName{}

// podUse is what one pod uses: CPU in cores, memory in bytes.
type podUse struct {
	cpu     float64
	memory  int64
	traffic podTraffic
}

// podTraffic is what went through the network of a pod, or of a machine, since it began.
type podTraffic struct {
	at      time.Time
	in, out int64
}

// flowSince is what moved since a reading before, in bytes per second. A counter that became
// smaller is another one.
func (t podTraffic) flowSince(before podTraffic) wire.Flow {
	elapsed := t.at.Sub(before.at).Seconds()
	if before.at.IsZero() || elapsed <= 0 || t.in < before.in || t.out < before.out {
		return wire.Flow{}
	}
	return wire.Flow{NetIn: float64(t.in-before.in) / elapsed,
		NetOut: float64(t.out-before.out) / elapsed}
}

// podFlow is a reading of the counters, and what moved since the one before.
type podFlow struct {
	podTraffic
	wire.Flow
}

// measureFlows compares the counters of everything with those of the last reading. A kubelet reads
// its own less often than it is asked, and until it has, what moved last still counts.
func (vt *vitals) measureFlows(use clusterUse) map[podName]podFlow {
	vt.mu.Lock()
	defer vt.mu.Unlock()
	now := map[podName]podFlow{}
	for name, u := range use.pods {
		f := vt.flows[name]
		if !u.traffic.at.Equal(f.at) {
			f = podFlow{u.traffic, u.traffic.flowSince(f.podTraffic)}
		}
		now[name] = f
	}
	vt.flows = now
	return now
}

// clusterUse is what the machines and pods of a cluster use.
type clusterUse struct {
	cpu    float64
	memory int64
	// diskFree is 0 where it is not known.
	diskFree int64
	pods     map[podName]podUse
}

// errNoMetrics: there is nobody to ask what pods use.
var errNoMetrics = errors.New("the cluster has no metrics server, and the agent's account may " +
	"not read the kubelets' summaries (nodes/proxy)")

// Vitals measures the cluster and the given services. Probe evaluates the readiness checks; here a
// service is either stopped or of unknown health.
func (vt *vitals) Vitals(ctx context.Context, services []agent.ServiceSpec) (wire.Vitals, error) {
	v := wire.Vitals{At: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	machines, err := vt.usableMachines(ctx)
	if err != nil {
		return v, fmt.Errorf("measure the cluster: %w", wrapQueryErr(err))
	}
	pods, err := vt.pods.list(ctx, "", vt.names.ownSelector())
	if err != nil {
		return v, fmt.Errorf("measure the cluster: %w", wrapQueryErr(err))
	}
	use, err := vt.readUse(ctx, machines)
	if err != nil && !errors.Is(err, errNoMetrics) {
		vt.log.DebugContext(ctx, "the cluster's figures cannot be read", "error", err)
	}
	v.CPU, v.MemoryUsed, v.DiskFree = use.cpu, use.memory, use.diskFree
	if v.DiskFree == 0 {
		for _, m := range machines {
			v.DiskFree += m.Status.Allocatable.StorageEphemeral().Value()
		}
	}
	newest, flows := newestPods(pods), vt.measureFlows(use)
	v.Flow = flows[machineTraffic].Flow
	for _, s := range services {
		p := newest[podName{vt.names.namespaceName(s.Deployment), string(s.Step)}]
		one := serviceVitals(s, p)
		if p != nil {
			name := podName{p.Namespace, p.Name}
			u := use.pods[name]
			one.CPU, one.Memory, one.Flow = u.cpu, u.memory, flows[name].Flow
		}
		v.MemoryOurs += one.Memory
		v.Services = append(v.Services, one)
	}
	return v, nil
}

// newestPods finds the pod of each service and job, by namespace and step.
func newestPods(pods []corev1.Pod) map[podName]*corev1.Pod {
	newest := map[podName]*corev1.Pod{}
	for i := range pods {
		p := &pods[i]
		key := podName{p.Namespace, p.Labels[labelStep]}
		if p.DeletionTimestamp != nil || p.Labels[labelKind] != string(agent.KindService) {
			continue
		}
		before := newest[key]
		if before == nil || isNewer(p, before) {
			newest[key] = p
		}
	}
	return newest
}

func serviceVitals(s agent.ServiceSpec, p *corev1.Pod) wire.ServiceVitals {
	v := wire.ServiceVitals{Deployment: s.Deployment, Step: s.Step, Health: wire.HealthUnknown}
	switch {
	case p == nil:
		v.Health, v.Detail = wire.HealthStopped, "its pod is gone"
	case !isRunning(p):
		if ended, ok := endedProbe(p); ok {
			v.Health, v.Detail = ended.Health, ended.Detail
		}
	}
	return v
}

// readUse asks the kubelets, or else the metrics server.
func (vt *vitals) readUse(ctx context.Context, machines []corev1.Node) (clusterUse, error) {
	if !vt.maySummarize(ctx) {
		use, err := vt.readMetrics(ctx)
		if err != nil {
			return clusterUse{}, errNoMetrics
		}
		return use, nil
	}
	use := clusterUse{pods: map[podName]podUse{}}
	for _, m := range machines {
		if err := vt.addSummary(ctx, m.Name, &use); err != nil {
			return clusterUse{}, err
		}
	}
	return use, nil
}

func (vt *vitals) maySummarize(ctx context.Context) bool {
	vt.mu.Lock()
	defer vt.mu.Unlock()
	if vt.noSummary {
		return false
	}
	review, err := vt.reviews.create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get",
				Resource: "nodes", Subresource: "proxy"}}})
	if err != nil {
		return false
	}
	vt.noSummary = !review.Status.Allowed
	return review.Status.Allowed
}

// metricList is what metrics.k8s.io answers about machines, and about pods.
type metricList struct {
	Items []struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Usage      map[string]string `json:"usage"`
		Containers []struct {
			Usage map[string]string `json:"usage"`
		} `json:"containers"`
	} `json:"items"`
}

const metricsPath = "/apis/metrics.k8s.io/v1beta1/"

func (vt *vitals) readMetrics(ctx context.Context) (use clusterUse, err error) {
	var machines, pods metricList
	err = readJSON(vt.core.Get().AbsPath(metricsPath+"nodes").Do(ctx), &machines)
	if err == nil {
		err = readJSON(vt.core.Get().AbsPath(metricsPath+"pods").
			Param("labelSelector", vt.names.ownSelector()).Do(ctx), &pods)
	}
	if err != nil {
		return use, err
	}
	use.pods = map[podName]podUse{}
	for _, m := range machines.Items {
		u := parseUse(m.Usage)
		use.cpu, use.memory = use.cpu+u.cpu, use.memory+u.memory
	}
	for _, p := range pods.Items {
		var total podUse
		for _, c := range p.Containers {
			u := parseUse(c.Usage)
			total.cpu, total.memory = total.cpu+u.cpu, total.memory+u.memory
		}
		use.pods[podName{p.Metadata.Namespace, p.Metadata.Name}] = total
	}
	return use, nil
}

// parseUse reads quantities such as 12345678n and 4096Ki; what is no quantity counts as nothing.
func parseUse(usage map[string]string) (u podUse) {
	if q, err := resource.ParseQuantity(usage["cpu"]); err == nil {
		u.cpu = q.AsApproximateFloat64()
	}
	if q, err := resource.ParseQuantity(usage["memory"]); err == nil {
		u.memory = q.Value()
	}
	return u
}

// summary is the part of a kubelet's summary that we read.
type summary struct {
	Node struct {
		CPU     cpuStats     `json:"cpu"`
		Memory  memoryStats  `json:"memory"`
		Network networkStats `json:"network"`
		FS      struct {
			Available int64 `json:"availableBytes"`
		} `json:"fs"`
	} `json:"node"`
	Pods []struct {
		Pod struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"podRef"`
		Network    networkStats `json:"network"`
		Containers []struct {
			CPU    cpuStats    `json:"cpu"`
			Memory memoryStats `json:"memory"`
		} `json:"containers"`
	} `json:"pods"`
}

// networkStats are counters of the interface that leads outside.
type networkStats struct {
	At  time.Time `json:"time"`
	In  int64     `json:"rxBytes"`
	Out int64     `json:"txBytes"`
}

func (n networkStats) traffic() podTraffic { return podTraffic{at: n.At, in: n.In, out: n.Out} }

type cpuStats struct {
	Nano float64 `json:"usageNanoCores"`
}

type memoryStats struct {
	WorkingSet int64 `json:"workingSetBytes"`
}

func (vt *vitals) addSummary(ctx context.Context, machine string, use *clusterUse) error {
	var s summary
	err := readJSON(vt.core.Get().Resource("nodes").Name(machine).SubResource("proxy").
		Suffix("stats/summary").Do(ctx), &s)
	if err != nil {
		return fmt.Errorf("summary of machine %s: %w", machine, err)
	}
	use.cpu += s.Node.CPU.Nano / 1e9
	use.memory += s.Node.Memory.WorkingSet
	use.diskFree += s.Node.FS.Available
	all := use.pods[machineTraffic]
	all.traffic.at = s.Node.Network.At
	all.traffic.in += s.Node.Network.In
	all.traffic.out += s.Node.Network.Out
	use.pods[machineTraffic] = all
	for _, p := range s.Pods {
		u := podUse{traffic: p.Network.traffic()}
		for _, c := range p.Containers {
			u.cpu += c.CPU.Nano / 1e9
			u.memory += c.Memory.WorkingSet
		}
		use.pods[podName{p.Pod.Namespace, p.Pod.Name}] = u
	}
	return nil
}

package kubernetes

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

const internalDeployment = "0190b0de-0000-7000-8000-000000000001"

func newTestServices(t *testing.T, known map[string]imageConfig) *Kubernetes {
	t.Helper()
	b := &base{config: Config{Install: "test", Helper: "registry.test/agent:1"}.withDefaults(),
		names: newNames("nullops", "test")}
	k := assembleParts(b)
	k.images.known = known
	return k
}

// No pod of ours has credentials of the cluster or variables of other services, and none may gain
// rights; what a step names is limit and request.
func TestPods_AreHardened(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, map[string]imageConfig{"r.test/p:1": {Entrypoint: []string{"/p"},
		User: "root", Volumes: []string{"/data"}}})
	image := pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"}
	service, err := k.services.podTemplate(t.Context(), agent.ServiceSpec{Step: "web", Image: image,
		Deployment: internalDeployment, Resources: pipeline.Resources{CPU: 0.5, MemoryMiB: 64}})
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := k.plugins.newPod(t.Context(), agent.PluginSpec{Step: "make", Action: "create",
		Deployment: internalDeployment, Image: image})
	if err != nil {
		t.Fatal(err)
	}
	for name, pod := range map[string]corev1.PodSpec{"service": service.Spec,
		"plugin": plugin.Spec} {
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken ||
			pod.EnableServiceLinks == nil || *pod.EnableServiceLinks ||
			pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod is not hardened: %+v", name, pod)
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			s := c.SecurityContext
			if s == nil || *s.AllowPrivilegeEscalation || s.Capabilities.Drop[0] != "ALL" ||
				c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: container %s is not hardened: %+v", name, c.Name, c)
			}
		}
	}
	main := service.Spec.Containers[0]
	if got := main.Resources.Requests.Memory().Value(); got != 64<<20 {
		t.Errorf("a service with a limit of 64 MiB requests %d bytes", got)
	}
	p := plugin.Spec.Containers[0].SecurityContext
	if *p.RunAsUser != unprivilegedUser || !*p.RunAsNonRoot || !*p.ReadOnlyRootFilesystem ||
		len(p.Capabilities.Add) > 0 {
		t.Errorf("a plugin whose image wants root runs as %+v", p)
	}
	if plugin.Labels[labelNetwork] != "" {
		t.Error("a plugin without network is admitted by the policy")
	}
}

// Secrets and files are in no part of a pod, and Kubernetes replaces nothing in what it is given.
func TestPods_HoldNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-4711"
	k := newTestServices(t, map[string]imageConfig{"r.test/p:1": {Entrypoint: []string{"/p"}}})
	s := agent.ServiceSpec{Step: "web", Deployment: internalDeployment,
		Image:     pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"},
		Command:   []string{"$(WHO)"},
		Env:       map[string]string{"WHO": "$(HOME) costs $5"},
		SecretEnv: map[string]string{"PASSWORD": secret},
		Files:     []pipeline.File{{Path: "/etc/app.conf", Content: secret}}}
	template, err := k.services.podTemplate(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := template.Marshal()
	if err != nil || strings.Contains(string(text), secret) ||
		strings.Contains(string(text), "PASSWORD") {
		t.Errorf("the pod holds a secret, or %v", err)
	}
	main := template.Spec.Containers[0]
	want := []string{"/p", "$$(WHO)"}
	if strings.Join(main.Args, " ") != strings.Join(want, " ") ||
		main.Env[0].Value != "$$(HOME) costs $$5" {
		t.Errorf("it is started with %q and %q", main.Args, main.Env)
	}
	without := s
	without.SecretEnv = map[string]string{"PASSWORD": "other"}
	again, err := k.services.podTemplate(t.Context(), without)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := hashParts(template)
	other, _ := hashParts(again)
	if one != other {
		t.Error("the digest of a service depends on its secrets, which could be guessed from it")
	}
}

// GPUs by the ids of their driver are refused before anything is made.
func TestStartService_RefusesGPUsByTheirIDs(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, nil)
	err := k.StartService(t.Context(), agent.ServiceSpec{Step: "db", Deployment: internalDeployment,
		GPUs: &pipeline.GPUs{DeviceIDs: []string{"node1/0", "GPU-1"}}})
	if err == nil || !strings.Contains(err.Error(), "GPU-1") ||
		!strings.Contains(err.Error(), "gpus.count") {
		t.Errorf("it says %v", err)
	}
	if n := countGPUs(&pipeline.GPUs{DeviceIDs: []string{"node1/0", "a.example.com/11"}}); n != 2 {
		t.Errorf("two of the node's own ids are %d GPUs", n)
	}
}

// A quota of a deployment is its project's limit and what our own containers need, which take no
// more than that beside a small service.
func TestQuota_HasRoomForTheHelper(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, map[string]imageConfig{"r.test/p:1": {Entrypoint: []string{"/p"}}})
	s := agent.ServiceSpec{Step: "e2e", Deployment: internalDeployment, Once: true,
		Image:     pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"},
		Resources: pipeline.Resources{CPU: 0.05, MemoryMiB: 8}, Results: "/results/*.xml",
		Volumes: []pipeline.Volume{{Name: "data", Path: "/data"}}}
	template, err := k.services.podTemplate(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	hard := quotaSpec(s.Resources, 1).Hard
	var cpu, memory, mostCPU, mostMemory int64
	for _, c := range template.Spec.Containers {
		cpu += c.Resources.Limits.Cpu().MilliValue()
		memory += c.Resources.Limits.Memory().Value()
	}
	for _, c := range template.Spec.InitContainers {
		mostCPU = max(mostCPU, c.Resources.Limits.Cpu().MilliValue())
		mostMemory = max(mostMemory, c.Resources.Limits.Memory().Value())
	}
	cpu, memory = max(cpu, mostCPU), max(memory, mostMemory)
	quotaCPU, quotaMemory := hard["limits.cpu"], hard["limits.memory"]
	if cpu > quotaCPU.MilliValue() || memory > quotaMemory.Value() {
		t.Errorf("a pod of %d m and %d bytes has no room in %s and %s", cpu, memory,
			quotaCPU.String(), quotaMemory.String())
	}
	if !slices.Equal(quotaSpec(s.Resources, 1).Scopes,
		[]corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}) {
		t.Error("the quota counts plugins too")
	}
}

// A service with volumes runs beside those it shares them with, and its volumes begin with what its
// image has. GPUs are what the cluster calls them.
func TestPods_MountVolumesAndGPUs(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, nil)
	s := agent.ServiceSpec{Step: "db", Deployment: internalDeployment, GPUs: &pipeline.GPUs{Count: 2},
		Image: pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"},
		Volumes: []pipeline.Volume{{Name: "own", Path: "/own"},
			{Name: "x", Path: "/common", Shared: "all", ReadOnly: true}}}
	template, err := k.services.podTemplate(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	w := k.services.newWorkload(s, template, "spec", "made")
	main := w.template.Spec.Containers[0]
	gpus := main.Resources.Limits["nvidia.com/gpu"]
	if !w.stateful || gpus.Value() != 2 || main.VolumeMounts[0].MountPath != "/own" ||
		main.VolumeMounts[0].SubPath == "" || !main.VolumeMounts[1].ReadOnly {
		t.Errorf("the container is %+v", main)
	}
	affinity := w.template.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(affinity) != 1 || w.template.Labels[shareLabel(k.names.claimName(agent.NameVolume(
		internalDeployment, "db", s.Volumes[1])))] != "yes" {
		t.Errorf("pods that share a volume are kept together by %+v", affinity)
	}
	fill := w.template.Spec.InitContainers[1]
	if !strings.Contains(fill.Command[2], "/common") || fill.Image != main.Image ||
		fill.VolumeMounts[1].MountPath == "/own" {
		t.Errorf("volumes are filled by %+v", fill)
	}
}

// The sentence about a pod keeps the cluster's reason, and says whose doing it was.
func TestDescribePod(t *testing.T) {
	t.Parallel()
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: mainContainer, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"evicted": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted",
			Message: "The node was low on\nresource: memory."},
			"the cluster evicted its pod: The node was low on resource: memory."},
		"drained": {corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"}}},
			"its machine was drained: Eviction API: evicting"},
		"lost": {corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "DeletionByTaintManager", Message: "Taint manager: deleting"}}},
			"its machine is lost or takes no pods any more: Taint manager: deleting"},
		"no image": {waiting("ImagePullBackOff", "Back-off pulling image"),
			"its image cannot be pulled: ImagePullBackOff: Back-off pulling image"},
		"being made": {waiting("ContainerCreating", ""), beingMade},
	} {
		if got := describePod(&corev1.Pod{Status: c.status}); got != c.want {
			t.Errorf("%s: it says %q", name, got)
		}
	}
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
		Reason: "Error"}}
	for reason, want := range map[string]string{"Evicted": "the cluster evicted its pod: low",
		"": "", "DeadlineExceeded": ""} {
		p, ended := endedProbe(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed,
			Reason: reason, Message: "low", ContainerStatuses: []corev1.ContainerStatus{
				{Name: mainContainer, State: killed}}}})
		if !ended || p.Cluster != want || p.ExitCode != 137 {
			t.Errorf("a pod that ended for %q is %+v", reason, p)
		}
	}
}

package kubernetes

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

const (
	// Limits of a service or plugin that sets none, as on Docker. Nobody asked for these, so pods
	// request less from the cluster than they may use.
	defaultCPU         = 1.0
	defaultMemoryMiB   = 512
	requestedCPU       = 0.1
	requestedMemoryMiB = 128

	mainContainer   = "main"
	helperContainer = "nullops"
	// populateContainer fills new volumes.
	populateContainer = "nullops-volumes"

	// Where the containers of a pod find the helper, and what is delivered.
	helperSource   = "/app/sidecar"
	helperFolder   = "/.nullops/bin"
	helperTarget   = helperFolder + "/init"
	deliveryFolder = "/.nullops/run"
	secretsPath    = deliveryFolder + "/env/env.json"

	helperVolume   = "nullops-bin"
	deliveryVolume = "nullops-run"

	// transientSeconds is the deadline of pods that are no service and no job, a day. Their real
	// ends come long before; having one takes them out of the scope of the deployment's quota.
	transientSeconds = 24 * 60 * 60

	// unprivilegedUser is for the helper, and for images of plugins that want root or name no user.
	unprivilegedUser = 65534
)

// serviceCapabilities are those on Docker: what ordinary images need to prepare their folders as
// root and then drop to a user of their own.
func serviceCapabilities() []corev1.Capability {
	return []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL",
		"NET_BIND_SERVICE", "SETGID", "SETUID"}
}

// newPodSpec is what all our pods have in common: no credentials of the cluster, no variables about
// other services, the machines of this node.
func (b *base) newPodSpec(grace time.Duration) corev1.PodSpec {
	var credentials []corev1.LocalObjectReference
	if b.config.PullSecrets != "" {
		credentials = []corev1.LocalObjectReference{{Name: helperSecretName}}
	}
	return corev1.PodSpec{
		ImagePullSecrets:              credentials,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(wholeSeconds(grace)),
		NodeSelector:                  b.config.MachineSelector,
		Tolerations:                   tolerations(b.config.LostAfter),
		SecurityContext: &corev1.PodSecurityContext{
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			// As with Docker, any user may listen on any port of its own pod.
			Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}},
	}
}

// tolerations are for machines that do not answer. The cluster's own patience is five minutes.
func tolerations(patience time.Duration) (all []corev1.Toleration) {
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(wholeSeconds(patience))})
	}
	return all
}

// wholeSeconds rounds up, since Kubernetes counts whole seconds.
func wholeSeconds(d time.Duration) int64 { return max(int64((d+time.Second-1)/time.Second), 0) }

// addHelper puts the helper into the pod, by a container that runs before the main one. With
// delivery, it waits until the agent has delivered.
func (b *base) addHelper(pod *corev1.PodSpec, delivery bool) {
	command := []string{helperSource, "place", helperFolder}
	mounts := []corev1.VolumeMount{{Name: helperVolume, MountPath: helperFolder}}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: helperVolume,
		VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: mebibytes(32)}}})
	if delivery {
		command = append(command, deliveryFolder)
		mounts = append(mounts, corev1.VolumeMount{Name: deliveryVolume, MountPath: deliveryFolder})
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: deliveryVolume,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				Medium: corev1.StorageMediumMemory, SizeLimit: mebibytes(16)}}})
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		for _, m := range mounts {
			m.ReadOnly = true
			c.VolumeMounts = append(c.VolumeMounts, m)
		}
	}
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: helperContainer, Image: b.config.Helper, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: command, VolumeMounts: mounts,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          restrictedContext(unprivilegedUser),
		Resources:                helperLimits(pod.Containers[0], pipeline.Resources{CPU: 0.5}),
	})
}

// helperLimits are those of our own containers beside a main one. They take no more than it does,
// but for the little that the quota adds for them.
func helperLimits(main corev1.Container, most pipeline.Resources) corev1.ResourceRequirements {
	limits := main.Resources.Limits
	cpu := float64(limits.Cpu().MilliValue()) / 1000
	memory := int(limits.Memory().Value() >> 20)
	return resourceLimits(pipeline.Resources{CPU: max(helperCPU, min(most.CPU, cpu)),
		MemoryMiB: max(helperMemoryMiB, min(most.MemoryMiB, memory))}, true)
}

// restrictedContext is what the "restricted" level of PodSecurity asks for.
func restrictedContext(user int64) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsNonRoot: new(true), RunAsUser: &user, RunAsGroup: &user,
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// resourceLimits makes the limits requests too, so that the cluster has room for what a step names.
func resourceLimits(r pipeline.Resources, small bool) corev1.ResourceRequirements {
	request := r
	if r.CPU <= 0 {
		r.CPU, request.CPU = defaultCPU, requestedCPU
	}
	if r.MemoryMiB <= 0 {
		r.MemoryMiB, request.MemoryMiB = defaultMemoryMiB, requestedMemoryMiB
	}
	if small {
		request = pipeline.Resources{CPU: 0.01, MemoryMiB: 16}
	}
	return corev1.ResourceRequirements{Limits: resourceList(r), Requests: resourceList(request)}
}

func resourceList(r pipeline.Resources) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(r.CPU*1000), resource.DecimalSI),
		corev1.ResourceMemory: *mebibytes(r.MemoryMiB),
	}
}

func mebibytes(n int) *resource.Quantity {
	return resource.NewQuantity(int64(n)<<20, resource.BinarySI)
}

// literal keeps Kubernetes from replacing $(NAME) in commands and variables, which Docker does not.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

func literals(all []string) (escaped []string) {
	for _, s := range all {
		escaped = append(escaped, literal(s))
	}
	return escaped
}

// environmentList is sorted, so that the same specification has the same digest.
func environmentList(env map[string]string) (list []corev1.EnvVar) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, corev1.EnvVar{Name: name, Value: literal(env[name])})
	}
	return list
}

// hostAliases groups names by their address, as Kubernetes wants them.
func hostAliases(hosts []pipeline.ExtraHost) (all []corev1.HostAlias) {
	for _, h := range hosts {
		i := slices.IndexFunc(all, func(a corev1.HostAlias) bool { return a.IP == h.Address })
		if i < 0 {
			all = append(all, corev1.HostAlias{IP: h.Address})
			i = len(all) - 1
		}
		all[i].Hostnames = append(all[i].Hostnames, h.Name)
	}
	return all
}

// memoryVolume is a folder in memory, which counts towards the pod's limit.
func memoryVolume(name string, sizeMiB int) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory,
			SizeLimit: mebibytes(sizeMiB)}}}
}

// pullPolicy: a digest is what it is, a tag may have moved.
func pullPolicy(i pipeline.Image) corev1.PullPolicy {
	if i.Digest != "" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

// podLabels are those of a pod of ours.
func (b *base) podLabels(
	kind agent.ObjectKind, deployment, run string, step pipeline.StepKey, spec string, network bool,
) map[string]string {
	l := b.names.objectLabels(kind, deployment, run, step, spec)
	if network {
		l[labelNetwork] = "yes"
	}
	return l
}

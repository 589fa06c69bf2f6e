package kubernetes

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// defaultGrace is that of Docker.
const defaultGrace = 10 * time.Second

// services starts and stops services and jobs, and runs commands in them.
type services struct {
	*base
	images  *images
	volumes *volumes
	pulls   *pullSecrets
	mu      sync.Mutex
	// delivered is what each service reads, by deployment and step.
	delivered map[string]delivered
	// results are what jobs left, by deployment and step.
	results map[string]keptResults
	// moved are the last pods that the cluster ended, by deployment and step.
	moved map[string]movedPod
}

// StartService makes a service's workload, or a job's pod.
func (sv *services) StartService(ctx context.Context, s agent.ServiceSpec) error {
	err := sv.names.checkNames(s.Deployment, string(s.Step))
	if err == nil {
		err = refuseService(s)
	}
	switch {
	case err != nil:
	case s.Once:
		err = sv.startJob(ctx, s)
	case s.Never:
		err = sv.startNever(ctx, s)
	default:
		err = sv.startService(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("service %s of deployment %s: %w", s.Step, s.Deployment, err)
	}
	return nil
}

// refuseService says what a service asks for that a cluster cannot do. Without it, the service
// would start and be something else than on Docker.
func refuseService(s agent.ServiceSpec) error {
	if s.GPUs == nil {
		return nil
	}
	for _, id := range s.GPUs.DeviceIDs {
		if !machineGPU.MatchString(id) {
			return fmt.Errorf("it asks for the GPU %s by its id, and a cluster hands GPUs out by "+
				"their number only: write gpus.count in its place, or deploy to a node with Docker",
				id)
		}
	}
	return nil
}

// machineGPU is the form of the ids that machineGPUs makes up. The control plane reserves GPUs by
// their ids; which machine's they are is the cluster's decision all the same.
var machineGPU = regexp.MustCompile(`^[a-z0-9.-]+/[0-9]+$`)

func countGPUs(g *pipeline.GPUs) int {
	if g == nil {
		return 0
	}
	return g.Count + len(g.DeviceIDs)
}

func (sv *services) startService(ctx context.Context, s agent.ServiceSpec) error {
	template, err := sv.podTemplate(ctx, s)
	if err == nil {
		err = sv.tryTemplate(ctx, s, template)
	}
	if err != nil {
		return err
	}
	if err := sv.volumes.ensureClaims(ctx, s); err != nil {
		return err
	}
	if err := sv.ensureName(ctx, s); err != nil {
		return err
	}
	made, err := sv.ensureWorkload(ctx, s, template, false)
	if err == nil {
		err = sv.endBackOff(ctx, s)
	}
	if err != nil || !needsDelivery(s) {
		return err
	}
	same, err := sv.deliver(ctx, s, made)
	if err != nil || same {
		return err
	}
	// It runs with other secrets or files: only new pods read the new ones.
	if made, err = sv.ensureWorkload(ctx, s, template, true); err != nil {
		return err
	}
	_, err = sv.deliver(ctx, s, made)
	return err
}

// tryTemplate has the cluster say whether it would take the service's pod, so that nothing is made
// for one that it refuses. A pod that is there already might be what takes the room.
func (sv *services) tryTemplate(
	ctx context.Context, s agent.ServiceSpec, template corev1.PodTemplateSpec,
) error {
	namespace := sv.names.namespaceName(s.Deployment)
	pods, err := sv.pods.list(ctx, namespace, sv.names.stepSelector(s.Step))
	if err != nil || len(pods) > 0 {
		return wrapQueryErr(err)
	}
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
		Name: string(s.Step), Namespace: namespace,
		Labels: sv.podLabels(agent.KindService, s.Deployment, s.Run, s.Step, "", true)}}
	return sv.tryPod(ctx, pod)
}

// endBackOff starts a service at once that has ended and that the cluster would start later: when
// it is started again is decided by the agent, as on Docker. A new pod has no back-off.
func (sv *services) endBackOff(ctx context.Context, s agent.ServiceSpec) error {
	pod, err := sv.currentPod(ctx, s.Deployment, s.Step)
	if err != nil || pod == nil {
		return err
	}
	main := containerState(pod.Status.ContainerStatuses, mainContainer)
	if main == nil || main.State.Waiting == nil || main.State.Waiting.Reason != backOffReason {
		return nil
	}
	return sv.removePod(ctx, pod, time.Second)
}

// ensureName makes the Service, through which others find the pod by the step's key. It is
// headless: the name leads to the pod itself, so that every port is open, as on Docker.
func (sv *services) ensureName(ctx context.Context, s agent.ServiceSpec) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err := sv.cluster.services.create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: string(s.Step),
			Namespace: sv.names.namespaceName(s.Deployment),
			Labels:    sv.names.objectLabels(agent.KindService, s.Deployment, "", s.Step, "")},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
			Selector: sv.selectorOf(s)},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil // the namespace is ours, and the selector follows from the name
	}
	return explainNamespace(wrapMutationErr(err))
}

// explainNamespace: a namespace that is not there is the answer to everything made in it.
func explainNamespace(err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("its namespace is gone: %w", err)
	}
	return err
}

func (sv *services) selectorOf(s agent.ServiceSpec) map[string]string {
	return map[string]string{labelInstall: sv.names.install, labelStep: string(s.Step),
		labelKind: string(agent.KindService)}
}

// conflictBackOff is for updates that collide with those of controllers, and of whatever else
// watches the cluster: some seconds, since a collision is no reason for a run to fail.
var conflictBackOff = apiwait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5,
	Steps: 14}

// ensureWorkload makes the service's workload, or brings it to this template and one replica. It
// returns the mark of the pods that it makes. Anew makes new pods from the same template.
func (sv *services) ensureWorkload(
	ctx context.Context, s agent.ServiceSpec, template corev1.PodTemplateSpec, anew bool,
) (made string, err error) {
	spec, err := hashParts(template)
	if err != nil {
		return "", err
	}
	err = retry.RetryOnConflict(conflictBackOff, func() error {
		there, err := sv.findOwnWorkload(ctx, s)
		if err != nil {
			return err
		}
		if there != nil {
			made = there.template.Labels[labelMade]
		}
		same := there != nil && there.Labels[labelSpec] == spec && !anew
		if same && there.replicas == 1 {
			return nil
		}
		if !same {
			made = newMark()
		}
		return sv.writeWorkload(ctx, s, there, sv.newWorkload(s, template, spec, made))
	})
	return made, explainNamespace(wrapMutationErr(err))
}

// writeWorkload creates a workload, or updates the one that is there.
func (sv *services) writeWorkload(
	ctx context.Context, s agent.ServiceSpec, there *workload, wanted workload,
) error {
	made := wanted.template.Labels[labelMade]
	release, err := sv.pulls.provideSecret(ctx, wanted.Namespace, string(s.Step)+"/"+made, s.Image)
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if there == nil {
		err = sv.createWorkload(asked, wanted)
	} else {
		err = sv.updateWorkload(asked, *there, wanted)
	}
	release(sv.stepHasPulled(s.Deployment, s.Step, made))
	return err
}

// findOwnWorkload returns the service's workload, or nil. What is there in its place is removed
// first: one of the other kind, since the service has got volumes or lost them, or the pod of a
// service that was not to be restarted.
func (sv *services) findOwnWorkload(
	ctx context.Context, s agent.ServiceSpec,
) (*workload, error) {
	namespace := sv.names.namespaceName(s.Deployment)
	there, err := sv.workloadOf(ctx, namespace, s.Step)
	if err == nil && there == nil {
		err = sv.removeBarePod(ctx, s)
	}
	if err != nil || there == nil {
		return nil, err
	}
	if there.Labels[labelInstall] != sv.names.install {
		return nil, fmt.Errorf("there is a %s %s that is not ours in its namespace: remove it",
			there.kind(), s.Step)
	}
	if there.stateful == (len(s.Volumes) > 0) {
		return there, nil
	}
	if _, err := sv.removeWorkload(ctx, namespace, s.Step, there.UID); err != nil {
		return nil, err
	}
	return nil, sv.awaitEnd(ctx, s.Deployment, s.Step)
}

func (sv *services) newWorkload(
	s agent.ServiceSpec, template corev1.PodTemplateSpec, spec, made string,
) workload {
	template.Labels = sv.podLabels(agent.KindService, s.Deployment, s.Run, s.Step, spec, true)
	template.Labels[labelMade] = made
	maps.Copy(template.Labels, sv.shareLabels(s))
	sv.pulls.referToSecret(&template.Spec, s.Image)
	return workload{stateful: len(s.Volumes) > 0, replicas: 1, template: template,
		selector: sv.selectorOf(s), ObjectMeta: metav1.ObjectMeta{Name: string(s.Step),
			Namespace: sv.names.namespaceName(s.Deployment),
			Labels:    sv.names.objectLabels(agent.KindService, s.Deployment, s.Run, s.Step, spec)}}
}

// newMark is a label's value that no other pods have.
func newMark() string { return "m" + rand.Text()[:12] }

// podTemplate is everything that pods of a service are made from, without its secrets.
func (sv *services) podTemplate(
	ctx context.Context, s agent.ServiceSpec,
) (t corev1.PodTemplateSpec, err error) {
	main := corev1.Container{
		Name: mainContainer, Image: imageReference(s.Image), ImagePullPolicy: pullPolicy(s.Image),
		Command: literals(s.Entrypoint), Args: literals(s.Command), Env: environmentList(s.Env),
		Resources: resourceLimits(s.Resources, false),
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem: new(s.ReadOnly), Capabilities: &corev1.Capabilities{
				Drop: []corev1.Capability{"ALL"}, Add: serviceCapabilities()}},
	}
	if s.StopSignal != "" {
		main.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{helperTarget, "stop-signal", s.StopSignal}}}}
	}
	if n := countGPUs(s.GPUs); n > 0 {
		main.Resources.Limits[corev1.ResourceName(sv.config.GPUResource)] =
			*resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	pod := sv.newPodSpec(cmp.Or(s.StopGrace, sv.config.StopGrace))
	user, err := sv.images.userOf(ctx, s.Image, s.User)
	if err != nil {
		return t, err
	}
	if user != nil {
		main.SecurityContext.RunAsUser, main.SecurityContext.RunAsGroup = &user.uid, user.gid
		pod.SecurityContext.SupplementalGroups = user.groups
	}
	if err := sv.wrapCommand(ctx, s, &main); err != nil {
		return t, err
	}
	for i, f := range s.Files {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: deliveryVolume,
			MountPath: f.Path, SubPath: "files/" + strconv.Itoa(i), ReadOnly: true})
	}
	pod.HostAliases = hostAliases(s.ExtraHosts)
	if s.Init {
		pod.ShareProcessNamespace = new(true) // the pod's own first process then collects others
	}
	addTmpfs(&pod, &main, s.Tmpfs)
	sv.addClaims(&pod, &main, s)
	sv.addResults(&pod, &main, s)
	pod.Containers = append([]corev1.Container{main}, pod.Containers...)
	sv.addHelper(&pod, needsDelivery(s))
	err = sv.addPopulate(&pod, s)
	return corev1.PodTemplateSpec{Spec: pod}, err
}

// wrapCommand puts our helper before a command that needs it: one that reads secrets, and one of a
// job that leaves results.
func (sv *services) wrapCommand(
	ctx context.Context, s agent.ServiceSpec, main *corev1.Container,
) error {
	if len(s.SecretEnv) == 0 && s.Results == "" {
		return nil
	}
	command, err := sv.commandOf(ctx, s)
	if err != nil {
		return err
	}
	if len(s.SecretEnv) > 0 {
		main.Command = []string{helperTarget, "init", secretsPath, "--"}
	} else {
		main.Command = nil
	}
	if s.Results != "" {
		command = append([]string{helperTarget, "run-job", resultsFolder, s.Results, "--"}, command...)
	}
	if main.Command == nil {
		main.Command, command = command[:1], command[1:]
	}
	main.Command, main.Args = literals(main.Command), literals(command)
	return nil
}

func addTmpfs(pod *corev1.PodSpec, main *corev1.Container, all []pipeline.Tmpfs) {
	for i, tmp := range all {
		name := "tmpfs-" + strconv.Itoa(i)
		pod.Volumes = append(pod.Volumes, memoryVolume(name, tmp.SizeMiB))
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name,
			MountPath: tmp.Path})
	}
}

// commandOf is the whole command of a service, which runs through our init: setting a command
// hides the image's own.
func (sv *services) commandOf(ctx context.Context, s agent.ServiceSpec) ([]string, error) {
	image, err := sv.images.configOf(ctx, s.Image)
	if err != nil {
		return nil, err
	}
	entrypoint, command := image.Entrypoint, s.Command
	if len(s.Entrypoint) > 0 {
		entrypoint = s.Entrypoint
	} else if len(command) == 0 {
		command = image.Cmd
	}
	if len(entrypoint) == 1 && entrypoint[0] == "" {
		entrypoint = nil
	}
	all := slices.Concat(entrypoint, command)
	if len(all) == 0 {
		return nil, fmt.Errorf("image %s has neither entrypoint nor command: set the service's "+
			"command",
			imageReference(s.Image))
	}
	return all, nil
}

// currentPod returns the newest pod of a service or job that is not being removed; it may be nil.
func (sv *services) currentPod(
	ctx context.Context, deployment string, step pipeline.StepKey,
) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	all, err := sv.pods.list(ctx, sv.names.namespaceName(deployment), sv.names.stepSelector(step))
	if err != nil {
		return nil, wrapQueryErr(err)
	}
	var newest *corev1.Pod
	for i := range all {
		p := &all[i]
		if p.DeletionTimestamp == nil && (newest == nil || isNewer(p, newest)) {
			newest = p
		}
	}
	return newest, nil
}

// isNewer compares two pods of a step. Creation times are in seconds: of two in the same one, that
// which has not ended is the newer.
func isNewer(p, than *corev1.Pod) bool {
	if p.CreationTimestamp.Equal(&than.CreationTimestamp) {
		return hasEnded(than) && !hasEnded(p)
	}
	return p.CreationTimestamp.After(than.CreationTimestamp.Time)
}

var errNoPod = errors.New("it has no pod")

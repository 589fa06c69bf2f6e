package kubernetes

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// defaultGrace is that of Docker.
const defaultGrace = 10 * time.Second

// services starts and stops services and jobs, and runs commands in them.
type services struct {
	*base
	images *images
}

// StartService makes a service's Deployment, or a job's pod.
func (sv *services) StartService(ctx context.Context, s agent.ServiceSpec) error {
	err := sv.names.checkNames(s.Deployment, string(s.Step))
	if err == nil {
		err = refuseService(s)
	}
	switch {
	case err != nil:
	case s.Once:
		err = sv.startJob(ctx, s)
	default:
		err = sv.startService(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("service %s of deployment %s: %w", s.Step, s.Deployment, err)
	}
	return nil
}

// refuseService says what a service asks for that this runtime cannot do yet. Without it, the
// service would start and be something else than on Docker.
func refuseService(s agent.ServiceSpec) error {
	var missing []string
	add := func(is bool, what string) {
		if is {
			missing = append(missing, what)
		}
	}
	add(len(s.Volumes) > 0, "volumes")
	add(s.GPUs != nil, "GPUs")
	add(s.StopSignal != "", "a stop signal of its own")
	add(s.Ready != nil && s.Ready.Image, "the health check of its image")
	if _, _, ok := numericUser(s.User); s.User != "" && !ok {
		add(true, "a user by name ("+s.User+"; write its number)")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("it asks for %s, which NullOps cannot do on Kubernetes yet: take that "+
		"out, or deploy to a node with Docker", joinWords(missing))
}

func (sv *services) startService(ctx context.Context, s agent.ServiceSpec) error {
	template, err := sv.podTemplate(ctx, s)
	if err != nil {
		return err
	}
	if err := sv.ensureName(ctx, s); err != nil {
		return err
	}
	made, err := sv.ensureDeployment(ctx, s, template, false)
	if err != nil || !needsDelivery(s) {
		return err
	}
	same, err := sv.deliver(ctx, s, made)
	if err != nil || same {
		return err
	}
	// It runs with other secrets or files: only new pods read the new ones.
	if made, err = sv.ensureDeployment(ctx, s, template, true); err != nil {
		return err
	}
	_, err = sv.deliver(ctx, s, made)
	return err
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

// ensureDeployment makes the Deployment, or brings it to this template and one replica. It returns
// the mark of the pods that it makes. Anew makes new pods from the same template.
func (sv *services) ensureDeployment(
	ctx context.Context, s agent.ServiceSpec, template corev1.PodTemplateSpec, anew bool,
) (made string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	spec, err := hashParts(template)
	if err != nil {
		return "", err
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := sv.deployments.get(ctx, sv.names.namespaceName(s.Deployment), string(s.Step))
		if apierrors.IsNotFound(err) {
			made = newMark()
			_, err = sv.deployments.create(ctx, sv.newDeployment(s, template, spec, made))
			return err
		}
		if err != nil {
			return err
		}
		if there.Labels[labelInstall] != sv.names.install {
			return fmt.Errorf("there is a Deployment %s that is not ours in its namespace: "+
				"remove it", s.Step)
		}
		made = there.Spec.Template.Labels[labelMade]
		same := there.Labels[labelSpec] == spec && !anew
		if same && there.Spec.Replicas != nil && *there.Spec.Replicas == 1 {
			return nil
		}
		if !same {
			made = newMark()
		}
		wanted := sv.newDeployment(s, template, spec, made)
		there.Spec, there.Labels = wanted.Spec, wanted.Labels
		_, err = sv.deployments.update(ctx, there)
		return err
	})
	return made, explainNamespace(wrapMutationErr(err))
}

func (sv *services) newDeployment(
	s agent.ServiceSpec, template corev1.PodTemplateSpec, spec, made string,
) *appsv1.Deployment {
	template.Labels = sv.podLabels(agent.KindService, s.Deployment, s.Run, s.Step, spec, true)
	template.Labels[labelMade] = made
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: string(s.Step),
			Namespace: sv.names.namespaceName(s.Deployment),
			Labels:    sv.names.objectLabels(agent.KindService, s.Deployment, s.Run, s.Step, spec)},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), RevisionHistoryLimit: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: sv.selectorOf(s)}, Template: template,
			// Two of one service side by side would be something else than on Docker.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}},
	}
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
	if uid, gid, ok := numericUser(s.User); ok {
		main.SecurityContext.RunAsUser, main.SecurityContext.RunAsGroup = &uid, &gid
	}
	if len(s.SecretEnv) > 0 {
		command, err := sv.commandOf(ctx, s)
		if err != nil {
			return t, err
		}
		main.Command = []string{helperTarget, "init", secretsPath, "--"}
		main.Args = literals(command)
	}
	for i, f := range s.Files {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: deliveryVolume,
			MountPath: f.Path, SubPath: "files/" + strconv.Itoa(i), ReadOnly: true})
	}
	pod := sv.newPodSpec(cmp.Or(s.StopGrace, sv.config.StopGrace))
	pod.HostAliases = hostAliases(s.ExtraHosts)
	if s.Init {
		pod.ShareProcessNamespace = new(true) // the pod's own first process then collects others
	}
	for i, tmp := range s.Tmpfs {
		name := "tmpfs-" + strconv.Itoa(i)
		pod.Volumes = append(pod.Volumes, memoryVolume(name, tmp.SizeMiB))
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name,
			MountPath: tmp.Path})
	}
	pod.Containers = []corev1.Container{main}
	sv.addHelper(&pod, needsDelivery(s))
	return corev1.PodTemplateSpec{Spec: pod}, nil
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
		if p.DeletionTimestamp == nil &&
			(newest == nil || p.CreationTimestamp.After(newest.CreationTimestamp.Time)) {
			newest = p
		}
	}
	return newest, nil
}

var errNoPod = errors.New("it has no pod")

package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

const (
	pluginTmpMiB = 64
	// pluginStart is how long a plugin's pod may take until its container runs.
	pluginStart = 5 * time.Minute
)

// plugins prepares and runs the pods of plugins. In a pod runs nothing but the helper, which waits;
// the plugin is started over an exec stream, whose input and output no machine writes to its disk.
type plugins struct {
	*base
	images *images
	pulls  *pullSecrets
	mu     sync.Mutex
	// waiting are the pods that were prepared and not used, by namespace and name. After a restart
	// nobody knows them, and RunPlugin replaces them.
	waiting map[string]bool
}

func pluginError(p agent.PluginSpec, err error) error {
	return fmt.Errorf("plugin %s (%s) of deployment %s: %w", p.Step, p.Action, p.Deployment, err)
}

// CreatePlugin makes the pod of a plugin before its turn, and waits until its container runs.
func (pl *plugins) CreatePlugin(ctx context.Context, p agent.PluginSpec) error {
	pod, err := pl.findWaiting(ctx, p)
	if err == nil && pod == nil {
		_, err = pl.openPod(ctx, p)
	}
	if err == nil {
		err = pl.config.Failpoint.Hit("sandbox.waits")
	}
	if err != nil {
		return pluginError(p, err)
	}
	pl.put(pl.keyOf(p))
	return nil
}

// findWaiting takes the pod that was prepared for this plugin. It returns nil without one, and for
// one that was made from something else or has ended; openPod replaces that.
func (pl *plugins) findWaiting(ctx context.Context, p agent.PluginSpec) (*corev1.Pod, error) {
	if !pl.take(pl.keyOf(p)) {
		return nil, nil
	}
	wanted, err := pl.newPod(ctx, p)
	if err != nil {
		return nil, err
	}
	pod, err := pl.getPod(ctx, wanted.Namespace, wanted.Name)
	if err != nil || pod == nil || !isRunning(pod) || !maps.Equal(pod.Labels, wanted.Labels) {
		return nil, err
	}
	return pod, nil
}

func (pl *plugins) keyOf(p agent.PluginSpec) string {
	return pl.names.namespaceName(p.Deployment) + "/" + pl.names.pluginName(p)
}

func (pl *plugins) put(key string) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.waiting[key] = true
}

// take reports whether the pod waits, and forgets it: a pod is used once.
func (pl *plugins) take(key string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	waits := pl.waiting[key]
	delete(pl.waiting, key)
	return waits
}

func (pl *plugins) isWaiting(namespace, name string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.waiting[namespace+"/"+name]
}

// forgetDeployment forgets the prepared pods of a deployment that is removed.
func (pl *plugins) forgetDeployment(namespace string) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for key := range pl.waiting {
		if strings.HasPrefix(key, namespace+"/") {
			delete(pl.waiting, key)
		}
	}
}

// openPod makes the plugin's pod and waits until it runs. One of the same name is removed first:
// what it did is for the caller to decide.
func (pl *plugins) openPod(ctx context.Context, p agent.PluginSpec) (*corev1.Pod, error) {
	if err := pl.names.checkNames(p.Deployment, string(p.Step), p.Action); err != nil {
		return nil, err
	}
	wanted, err := pl.newPod(ctx, p)
	if err != nil {
		return nil, err
	}
	there, err := pl.getPod(ctx, wanted.Namespace, wanted.Name)
	if err == nil && there != nil {
		err = pl.removePod(ctx, there, time.Second)
	}
	if err == nil {
		err = pl.createPulling(ctx, pl.pulls, wanted, p.Image)
	}
	if err == nil {
		err = pl.config.Failpoint.Hit("sandbox.created")
	}
	if err != nil {
		return nil, err
	}
	return pl.awaitRunning(ctx, wanted, pluginStart)
}

// waitsAhead: pods of plugins request little of what they may use. They run one after the other and
// for a short time, and those that wait for their turn must not hold the room that the undo of the
// same run needs.
const waitsAhead = true

// newPod is a pod that the "restricted" level of PodSecurity admits.
func (pl *plugins) newPod(ctx context.Context, p agent.PluginSpec) (*corev1.Pod, error) {
	image, err := pl.images.configOf(ctx, p.Image)
	if err != nil {
		return nil, err
	}
	security, groups, err := pl.securityOf(ctx, p.Image, image.User)
	if err != nil {
		return nil, err
	}
	main := corev1.Container{
		Name: mainContainer, Image: imageReference(p.Image), ImagePullPolicy: pullPolicy(p.Image),
		Command: []string{helperTarget, "hold", "pod"}, SecurityContext: security,
		Resources:    resourceLimits(p.Resources, waitsAhead),
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
	}
	if p.Traceparent != "" {
		main.Env = []corev1.EnvVar{{Name: "TRACEPARENT", Value: p.Traceparent}}
	}
	pod := pl.newPodSpec(pluginGrace)
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ActiveDeadlineSeconds = new(int64(transientSeconds))
	pod.SecurityContext.SupplementalGroups = groups
	pod.Volumes = []corev1.Volume{memoryVolume("tmp", pluginTmpMiB)}
	for i, path := range image.Volumes {
		if path == "/tmp" {
			continue
		}
		name := "image-" + strconv.Itoa(i)
		pod.Volumes = append(pod.Volumes, memoryVolume(name, pluginTmpMiB))
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name,
			MountPath: path})
	}
	pod.Containers = []corev1.Container{main}
	pl.addHelper(&pod, false)
	spec, err := hashParts(pod)
	if err != nil {
		return nil, err
	}
	return &corev1.Pod{Spec: pod, ObjectMeta: metav1.ObjectMeta{Name: pl.names.pluginName(p),
		Namespace: pl.names.namespaceName(p.Deployment),
		Labels: pl.podLabels(agent.KindPlugin, p.Deployment, p.Run, p.Step, spec,
			p.Network)}}, nil
}

// securityOf is for a plugin whose image names this user. As on Docker, it is another one if that
// is root.
func (pl *plugins) securityOf(
	ctx context.Context, image pipeline.Image, name string,
) (*corev1.SecurityContext, []int64, error) {
	security := restrictedContext(unprivilegedUser)
	user, err := pl.images.userOf(ctx, image, name)
	if err != nil || user == nil || user.uid == 0 {
		return security, nil, err
	}
	security.RunAsUser, security.RunAsGroup = &user.uid, user.gid
	return security, user.groups, nil
}

// commandOf is what the plugin's image runs.
func (pl *plugins) commandOf(ctx context.Context, p agent.PluginSpec) ([]string, error) {
	image, err := pl.images.configOf(ctx, p.Image)
	if err != nil {
		return nil, err
	}
	command := slices.Concat(image.Entrypoint, image.Cmd)
	if len(command) == 0 {
		return nil, fmt.Errorf("image %s has neither entrypoint nor command: a plugin's image "+
			"needs one",
			imageReference(p.Image))
	}
	return command, nil
}

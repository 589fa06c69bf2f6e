package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

var _ agent.VolumeCopier = (*Kubernetes)(nil)

const (
	// copyStart is how long the pod of a copy may take until it runs: its volume may have to be
	// made, or to come from another machine.
	copyStart = 3 * time.Minute
	// volumeTarget is where a volume is in the pod of a copy. Its last part is the name of the
	// volume's folder in the archive, as on Docker.
	volumeTarget = "/volume"
)

func describeVolume(v agent.VolumeName) string {
	if v.Service == "" {
		return "shared volume " + v.Name
	}
	return fmt.Sprintf("volume %s of service %s", v.Name, v.Service)
}

// VolumeBytes has our helper add up the files of the deployment's volumes.
func (vs *volumes) VolumeBytes(ctx context.Context, deployment string) (int64, error) {
	n, err := vs.measureVolumes(ctx, deployment)
	if err != nil {
		return 0, fmt.Errorf("measure the volumes of deployment %s: %w", deployment, err)
	}
	return n, nil
}

func (vs *volumes) measureVolumes(ctx context.Context, deployment string) (int64, error) {
	if err := vs.names.checkNames(deployment); err != nil {
		return 0, err
	}
	namespace := vs.names.namespaceName(deployment)
	claims, err := vs.claims.list(ctx, namespace, vs.names.ownSelector())
	if err != nil {
		return 0, wrapQueryErr(err)
	}
	total := int64(0)
	for _, c := range claims {
		n, err := vs.measureClaim(ctx, deployment, c.Name)
		if err != nil {
			return 0, fmt.Errorf("volume %s: %w", c.Name, err)
		}
		total += n
	}
	return total, nil
}

func (vs *volumes) measureClaim(
	ctx context.Context, deployment, claim string,
) (n int64, err error) {
	pod, err := vs.openCopy(ctx, deployment, claim, true)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, vs.closeCopy(ctx, pod)) }()
	output, code, err := vs.runInPod(ctx, pod.Namespace, pod.Name, mainContainer,
		[]string{helperSource, "volume-bytes", volumeTarget}, nil)
	if err == nil && code != 0 {
		err = fmt.Errorf("the helper says: %s", output)
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(output), 10, 64)
}

// ReadVolume streams a volume through a pod that mounts it.
func (vs *volumes) ReadVolume(ctx context.Context, v agent.VolumeName) (io.ReadCloser, error) {
	r, err := vs.readVolume(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", describeVolume(v), err)
	}
	return r, nil
}

func (vs *volumes) readVolume(ctx context.Context, v agent.VolumeName) (io.ReadCloser, error) {
	claim, err := vs.checkedClaimName(v)
	if err != nil {
		return nil, err
	}
	pod, err := vs.openCopy(ctx, v.Deployment, claim, true)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	out, in := io.Pipe()
	s := &volumeStream{PipeReader: out, ended: make(chan struct{})}
	s.done = func() error { stop(); return vs.closeCopy(ctx, pod) }
	go func() {
		defer close(s.ended)
		var said limitedBuffer
		code, err := vs.execInPod(running, pod.Namespace, pod.Name, mainContainer,
			[]string{helperSource, "pack", volumeTarget}, streams{out: in, err: &said})
		switch {
		case err != nil:
			err = wrapMutationErr(err)
		case code != 0:
			err = fmt.Errorf("the helper could not read it to its end: %s", said.String())
		default:
			err = io.EOF
		}
		_ = in.CloseWithError(err)
	}()
	return s, nil
}

// volumeStream removes the pod of the copy when it is closed.
type volumeStream struct {
	*io.PipeReader
	ended chan struct{}
	done  func() error
}

func (s *volumeStream) Close() error {
	err := errors.Join(s.PipeReader.Close(), s.done())
	<-s.ended
	return err
}

// WriteVolume has our helper empty the volume and unpack the stream into it.
func (vs *volumes) WriteVolume(ctx context.Context, v agent.VolumeName, from io.Reader) error {
	if err := vs.writeVolume(ctx, v, from); err != nil {
		return fmt.Errorf("write %s: %w", describeVolume(v), err)
	}
	return nil
}

func (vs *volumes) writeVolume(
	ctx context.Context, v agent.VolumeName, from io.Reader,
) (err error) {
	claim, err := vs.checkedClaimName(v)
	if err != nil {
		return err
	}
	// The other node's services may be written here before any step of this one has run.
	if err := vs.namespaces.prepareNamespace(ctx, v.Deployment); err != nil {
		return err
	}
	if err := vs.ensureClaim(ctx, v); err != nil {
		return err
	}
	user, err := vs.userOf(ctx, v.Deployment, claim)
	if err == nil && user != nil {
		err = fmt.Errorf("the pod %s, which has the volume, runs", user.Name)
	}
	if err != nil {
		return err
	}
	pod, err := vs.openCopy(ctx, v.Deployment, claim, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, vs.closeCopy(ctx, pod)) }()
	output, code, err := vs.runInPod(ctx, pod.Namespace, pod.Name, mainContainer,
		[]string{helperSource, "unpack", volumeTarget}, from)
	if err == nil && code != 0 {
		err = fmt.Errorf("the helper could not write it: %s", output)
	}
	return err
}

func (vs *volumes) checkedClaimName(v agent.VolumeName) (string, error) {
	names := []string{v.Name}
	if v.Service != "" {
		names = append(names, string(v.Service))
	}
	return vs.names.claimName(v), vs.names.checkNames(v.Deployment, names...)
}

// userOf returns a pod of a service or job that has the volume and has not ended, or nil.
func (vs *volumes) userOf(
	ctx context.Context, deployment, claim string,
) (*corev1.Pod, error) {
	pods, err := vs.pods.list(ctx, vs.names.namespaceName(deployment), vs.names.ownSelector())
	if err != nil {
		return nil, wrapQueryErr(err)
	}
	for i := range pods {
		p := &pods[i]
		if p.Labels[labelKind] == string(agent.KindCopy) || hasEnded(p) {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
				return p, nil
			}
		}
	}
	return nil, nil
}

// openCopy starts the pod through which a volume is copied, on the machine where it is in use.
func (vs *volumes) openCopy(
	ctx context.Context, deployment, claim string, readOnly bool,
) (*corev1.Pod, error) {
	wanted := vs.copyPod(deployment, claim, readOnly)
	user, err := vs.userOf(ctx, deployment, claim)
	if err != nil {
		return nil, err
	}
	if user != nil && user.Spec.NodeName != "" {
		wanted.Spec.Affinity = onMachine(user.Spec.NodeName)
	}
	there, err := vs.getPod(ctx, wanted.Namespace, wanted.Name)
	if err == nil && there != nil {
		err = vs.removePod(ctx, there, time.Second)
	}
	if err == nil {
		err = vs.createPod(ctx, wanted)
	}
	if err != nil {
		return nil, err
	}
	pod, err := vs.awaitRunning(ctx, wanted, copyStart)
	if err != nil {
		return nil, errors.Join(err, vs.closeCopy(ctx, wanted))
	}
	return pod, nil
}

func onMachine(name string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name",
					Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}}}}}
}

func (vs *volumes) copyPod(deployment, claim string, readOnly bool) *corev1.Pod {
	pod := vs.newPodSpec(time.Second)
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ActiveDeadlineSeconds = new(int64(transientSeconds))
	pod.Volumes = []corev1.Volume{claimVolume("volume", claim)}
	pod.Containers = []corev1.Container{{
		Name: mainContainer, Image: vs.config.Helper, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{helperSource, "hold", "pod"}, SecurityContext: rootContext(),
		Resources: resourceLimits(pipeline.Resources{CPU: 1, MemoryMiB: 128}, true),
		VolumeMounts: []corev1.VolumeMount{{Name: "volume", MountPath: volumeTarget,
			SubPath: claimFolder, ReadOnly: readOnly}},
	}}
	return &corev1.Pod{Spec: pod, ObjectMeta: metav1.ObjectMeta{
		Name: withHash("copy-"+claim, claim), Namespace: vs.names.namespaceName(deployment),
		Labels: vs.podLabels(agent.KindCopy, deployment, "", "", "", false)}}
}

// closeCopy removes the pod of a copy, also when the copy was cancelled.
func (vs *volumes) closeCopy(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMargin)
	defer cancel()
	there, err := vs.getPod(ctx, pod.Namespace, pod.Name)
	if err != nil || there == nil {
		return err
	}
	return vs.removePod(ctx, there, time.Second)
}

// awaitRunning waits until a bare pod runs.
func (b *base) awaitRunning(
	ctx context.Context, wanted *corev1.Pod, within time.Duration,
) (*corev1.Pod, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		pod, err := b.getPod(limited, wanted.Namespace, wanted.Name)
		switch {
		case err != nil && limited.Err() == nil:
			return nil, err
		case err == nil && pod == nil:
			return nil, errors.New("its pod was removed before it ran")
		case err == nil && isRunning(pod):
			return pod, nil
		case err == nil && hasEnded(pod):
			return nil, fmt.Errorf("its pod ended before it ran: %s", describePod(pod))
		}
		if wait.Sleep(limited, statePause) != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("its pod does not start: %s", b.explainPod(ctx, pod))
		}
	}
}

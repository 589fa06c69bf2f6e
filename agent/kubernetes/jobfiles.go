package kubernetes

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

var _ agent.FileReader = (*Kubernetes)(nil)

// The files of a container that has ended are gone. So the helper copies those that a job leaves
// into a volume of the pod, where a second container waits until the agent has read them. It keeps
// the pod from ending, and so from giving its room in a quota back: the pod is ended with that.
const (
	resultsContainer = "nullops-results"
	resultsVolume    = "nullops-results"
	resultsFolder    = "/.nullops/results"
	resultsMiB       = 80
	filesTime        = time.Minute
)

// addResults makes room for what a job leaves, and a container that outlives it.
func (sv *services) addResults(pod *corev1.PodSpec, main *corev1.Container, s agent.ServiceSpec) {
	if s.Results == "" {
		return
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: resultsVolume,
		VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: mebibytes(resultsMiB)}}})
	mount := corev1.VolumeMount{Name: resultsVolume, MountPath: resultsFolder}
	main.VolumeMounts = append(main.VolumeMounts, mount)
	mount.ReadOnly = true
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: resultsContainer, Image: sv.config.Helper, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{helperSource, "hold", "pod"}, VolumeMounts: []corev1.VolumeMount{mount},
		SecurityContext: restrictedContext(unprivilegedUser),
		Resources:       resourceLimits(pipeline.Resources{CPU: helperCPU, MemoryMiB: 32}, true),
	})
}

// keptResults are what was read of one pod.
type keptResults struct {
	pod   types.UID
	files []agent.ContainerFile
}

// ReadFiles returns what a job has left that ended. Only files that match its own pattern (Results)
// were kept.
func (sv *services) ReadFiles(ctx context.Context, deployment string, step pipeline.StepKey,
	pattern string, limits agent.FileLimits) ([]agent.ContainerFile, error) {
	if err := sv.names.checkNames(deployment, string(step)); err != nil {
		return nil, err
	}
	pod, err := sv.currentPod(ctx, deployment, step)
	if err == nil && pod == nil {
		err = fmt.Errorf("%w: %w", errNoPod, agent.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	key := sv.deliveryKey(deployment, step)
	sv.mu.Lock()
	kept := sv.results[key]
	sv.mu.Unlock()
	if kept.pod != pod.UID {
		kept = keptResults{pod: pod.UID}
		if kept.files, err = sv.readResults(ctx, pod); err != nil {
			return nil, err
		}
		sv.mu.Lock()
		sv.results[key] = kept
		sv.mu.Unlock()
	}
	if err := sv.endResults(ctx, pod); err != nil {
		return nil, err
	}
	return chooseFiles(kept.files, pattern, limits)
}

// readResults reads everything that was kept.
func (sv *services) readResults(
	ctx context.Context, pod *corev1.Pod,
) (found []agent.ContainerFile, err error) {
	holder := containerState(pod.Status.ContainerStatuses, resultsContainer)
	if holder == nil || holder.State.Running == nil {
		return nil, errors.New("what it left went with its pod")
	}
	limited, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	var packed, said bytes.Buffer
	code, err := sv.execInPod(limited, pod.Namespace, pod.Name, resultsContainer,
		[]string{helperSource, "pack", resultsFolder}, streams{out: &packed, err: &said})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	case code != 0:
		return nil, fmt.Errorf("the helper could not read them: %s", oneLine(said.String()))
	}
	for archive := tar.NewReader(&packed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		top := path.Base(resultsFolder)
		switch {
		case h.Name == path.Join(top, sidecar.ResultsProblem):
			return nil, fmt.Errorf("the files cannot be used: %s", oneLine(string(data)))
		case h.Typeflag == tar.TypeReg && path.Dir(h.Name) == path.Join(top, sidecar.ResultsName):
			found = append(found, agent.ContainerFile{Name: path.Base(h.Name), Data: data})
		}
	}
}

// endResults ends the pod of a job that has ended, whose results are read.
func (sv *services) endResults(ctx context.Context, pod *corev1.Pod) error {
	if hasEnded(pod) || !leavesResults(pod) || isRunning(pod) {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return ignoreNotFound(wrapMutationErr(sv.pods.patch(asked, pod.Namespace, pod.Name, endPatch)))
}

// leavesResults reports whether a pod has a container that outlives its main one.
func leavesResults(p *corev1.Pod) bool {
	return containerState(p.Status.ContainerStatuses, resultsContainer) != nil
}

func chooseFiles(
	all []agent.ContainerFile, pattern string, limits agent.FileLimits,
) (chosen []agent.ContainerFile, err error) {
	left := limits.Bytes
	for _, f := range all {
		is, err := path.Match(path.Base(pattern), f.Name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the files cannot be used: %w", err)
		case !is:
			continue
		case len(chosen) == limits.Files:
			return nil, fmt.Errorf("the files cannot be used: there are more than %d", limits.Files)
		}
		if left -= int64(len(f.Data)); left < 0 {
			return nil, fmt.Errorf("the files cannot be used: they have more than %d bytes",
				limits.Bytes)
		}
		chosen = append(chosen, f)
	}
	return chosen, nil
}

// signalTime is how long a command may take to begin in a container, on a busy machine.
const signalTime = 15 * time.Second

// stopMain asks a job's process to end and waits for that, so that what it left is kept. It reports
// whether it has ended within its time, which begins when it is asked.
func (sv *services) stopMain(ctx context.Context, pod *corev1.Pod) bool {
	grace := graceOf(pod)
	limited, cancel := context.WithTimeout(ctx, signalTime+grace)
	defer cancel()
	_, code, err := sv.runInPod(limited, pod.Namespace, pod.Name, mainContainer,
		[]string{helperTarget, "stop-signal", "TERM", grace.String()}, nil)
	if code == sidecar.ExitStays || limited.Err() != nil {
		return false
	}
	patience := stopMargin // it has ended, and its machine says so in its own time
	if err != nil {
		patience = grace
	}
	limited, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		now, err := sv.getPod(ctx, pod.Namespace, pod.Name)
		if err == nil && (now == nil || hasMainEnded(now)) {
			return true
		}
		if wait.Sleep(limited, statePause) != nil {
			return false
		}
	}
}

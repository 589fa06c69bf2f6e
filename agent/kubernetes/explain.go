package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// backOffReason is the cluster's word for waiting before it starts a container again.
const backOffReason = "CrashLoopBackOff"

// beingMade is what is known of a pod whose containers are not made yet.
const beingMade = "its containers are being made"

// noPull begins what is said of a pod without its image.
const noPull = "its image cannot be pulled"

// describePod says in one sentence, with the cluster's reason, what a pod that does not run waits
// for, or how it ended.
func describePod(p *corev1.Pod) string {
	if p == nil {
		return "the cluster has not made it"
	}
	if text := endedByCluster(p); text != "" {
		return text
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "the cluster has no room for it: " + oneLine(c.Message)
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" &&
			w.Reason != "ContainerCreating" {
			return describeWaiting(w)
		}
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return describeEnd(s.Name, t)
		}
	}
	if p.Status.Phase == corev1.PodPending {
		return beingMade
	}
	return "its pod is " + strings.ToLower(string(p.Status.Phase))
}

func describeWaiting(w *corev1.ContainerStateWaiting) string {
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed":
		return noPull + ": " + joinReason(w.Reason, w.Message)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
		"PreStartHookError", "PostStartHookError":
		return "its container cannot be started: " + joinReason(w.Reason, w.Message)
	case backOffReason:
		return "it has ended, and the cluster waits before it starts it again"
	}
	return joinReason(w.Reason, w.Message)
}

// describeEnd quotes the helper, whose last words the cluster keeps.
func describeEnd(container string, t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("container %s exited with code %d", container, t.ExitCode)
	if t.Reason == "OOMKilled" {
		text = "container " + container + " ran out of memory"
	}
	if said := strings.TrimPrefix(oneLine(t.Message), "nullops: "); said != "" {
		text += ": " + said
	}
	return text
}

// endedByCluster says why the cluster ended a pod, or does not take it; it is empty for one that it
// lets be. What we did ourselves is no reason of the cluster's.
func endedByCluster(p *corev1.Pod) string {
	reason, message := p.Status.Reason, oneLine(p.Status.Message)
	switch reason {
	case "":
		return describeDisruption(p)
	case "DeadlineExceeded": // how we stop a job
		return ""
	case "Evicted":
		return "the cluster evicted its pod: " + message
	case "Preempting", "Preempted":
		return "the cluster ended its pod for one of higher priority: " + message
	case "NodeShutdown", "Shutdown", "Terminated":
		return "its machine was shut down: " + message
	case "NodeLost", "NodeAffinity":
		return "its machine is lost: " + joinReason(reason, message)
	case "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage":
		return "its machine has no room for it: " + message
	}
	return "the cluster ended its pod: " + joinReason(reason, message)
}

func describeDisruption(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Reason {
		case corev1.PodReasonPreemptionByScheduler:
			return "the cluster ended its pod for one of higher priority: " + oneLine(c.Message)
		case "DeletionByTaintManager":
			return "its machine is lost or takes no pods any more: " + oneLine(c.Message)
		case "EvictionByEvictionAPI":
			return "its machine was drained: " + oneLine(c.Message)
		}
		return "the cluster ended its pod: " + joinReason(c.Reason, c.Message)
	}
	return ""
}

// explainPod adds what only events say: why the volumes of a pod cannot be mounted.
func (b *base) explainPod(ctx context.Context, p *corev1.Pod) string {
	text := describePod(p)
	if p == nil {
		return text
	}
	switch {
	case text == beingMade:
		if why := b.lastWarning(ctx, p.Namespace, p.UID, "FailedMount", "FailedAttachVolume",
			"FailedMapVolume"); why != "" {
			return "its volume cannot be mounted: " + why
		}
		if why := b.lastWarning(ctx, p.Namespace, p.UID, "FailedCreatePodSandBox"); why != "" {
			return "its pod cannot be made: " + why
		}
	case strings.Contains(text, "PersistentVolumeClaim"):
		if why := b.lastWarning(ctx, p.Namespace, "", "ProvisioningFailed"); why != "" {
			return "its volume cannot be made: " + why
		}
	}
	return text
}

// lastWarning returns the newest warning about an object, or about any of the namespace if there is
// no id, with one of these reasons. It is empty without one, and if the cluster cannot be asked:
// then the caller has a shorter sentence.
func (b *base) lastWarning(
	ctx context.Context, namespace string, id types.UID, reasons ...string,
) string {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	selector := fields.Set{"type": corev1.EventTypeWarning}
	if id != "" {
		selector["involvedObject.uid"] = string(id)
	}
	all, err := b.events.listBy(ctx, namespace,
		metav1.ListOptions{FieldSelector: selector.AsSelector().String()})
	if err != nil {
		return ""
	}
	newest, at := "", time.Time{}
	for _, e := range all {
		if t := timeOf(e); slices.Contains(reasons, e.Reason) && !t.Before(at) {
			newest, at = oneLine(e.Message), t
		}
	}
	return newest
}

func timeOf(e corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

// explainRefusal says why no pod is made, from the words of a refusal.
func explainRefusal(message string) string {
	message = oneLine(message)
	if isQuotaRefusal(message) {
		return quotaWords(message) + ": " + message
	}
	return "the cluster refuses its pod: " + message
}

func joinReason(reason, message string) string {
	if message = oneLine(message); message == "" {
		return reason
	}
	return reason + ": " + message
}

// oneLine keeps a message of the cluster readable in a sentence.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// maxReason is how many bytes of the cluster's own words are quoted.
const maxReason = 500

func joinWords(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

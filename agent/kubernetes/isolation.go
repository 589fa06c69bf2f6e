package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

var _ agent.Prober = (*Kubernetes)(nil)

const (
	probePort = 7777
	// probeTries is how often in a row something forbidden must be reached: a cluster puts the
	// rules of new policies up one by one.
	probeTries = 5
	probePause = time.Second
	// probeReady is how long the pods may take until they answer.
	probeReady = 2 * time.Minute
	// isolationTime bounds a whole probe.
	isolationTime = 5 * time.Minute
)

// isolation tries whether the cluster enforces network policies: every cluster stores them, and
// whether something enforces them depends on its network plugin.
type isolation struct {
	*base
	namespaces *namespaces
}

// CountRestarts is always the same: nothing tells the agent that a network plugin was restarted,
// so that only time makes it probe again.
func (*isolation) CountRestarts() int64 { return 0 }

// ProbeIsolation makes two namespaces like those of deployments, and tries from a pod in each what
// their policies forbid: to reach the other pod, and the API server. Without a result the check is
// unknown, not OK.
func (is *isolation) ProbeIsolation(ctx context.Context) wire.Check {
	ctx, cancel := context.WithTimeout(ctx, isolationTime)
	defer cancel()
	var reached []string
	err := is.namespaces.rights.ensureRights(ctx)
	if err == nil {
		reached, err = is.tryIsolation(ctx)
	}
	check := wire.Check{ID: "isolation"}
	switch {
	case err != nil:
		is.log.WarnContext(ctx, "the isolation probe could not be made", "error", err)
		check.Severity = wire.SeverityUnknown
		check.Detail = "Whether the cluster enforces network policies could not be tried: " +
			oneLine(err.Error()) + "."
		check.Remedy = "See whether the cluster can run pods (kubectl get pods -A), and whether " +
			"the agent reaches them: outside the cluster, agent.kubernetes.admit names its address."
	case len(reached) > 0:
		check.Severity = wire.SeverityCritical
		check.Detail = "The cluster does not enforce network policies: a pod of one deployment " +
			"reached " + joinWords(reached) + "."
		check.Remedy = "Install a network plugin that enforces NetworkPolicy, such as Calico or " +
			"Cilium; the one of this cluster stores policies and does nothing."
	default:
		check.Severity = wire.SeverityOK
		check.Detail = "The cluster enforces network policies: pods of different deployments did " +
			"not reach each other, nor the API server."
	}
	return check
}

// probePod is one of the two pods.
type probePod struct {
	space space
	pod   *corev1.Pod
}

func (is *isolation) probeSpace(name string) space {
	return space{name: is.names.prefix + "-probe-" + name, mark: labelProbe, value: is.names.install,
		labels: func(agent.ObjectKind) map[string]string {
			return map[string]string{labelProbe: is.names.install}
		}}
}

func (is *isolation) tryIsolation(ctx context.Context) (reached []string, err error) {
	ends := []probePod{{space: is.probeSpace("a")}, {space: is.probeSpace("b")}}
	// What a probe left that was killed, and what this one makes.
	if err := is.removeSpaces(ctx, ends); err != nil {
		return nil, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		err = errors.Join(err, is.removeSpaces(end, ends))
	}()
	for i := range ends {
		if err := is.openProbe(ctx, &ends[i]); err != nil {
			return nil, err
		}
	}
	for i := range ends {
		if err := is.awaitProbe(ctx, &ends[i]); err != nil {
			return nil, err
		}
	}
	tries := map[string][2]string{
		"the pod of another": {ends[0].space.name, podAddress(ends[1].pod)},
		"one of yet another": {ends[1].space.name, podAddress(ends[0].pod)},
	}
	if api := is.apiAddress(); api != "" {
		tries["the API server"] = [2]string{ends[0].space.name, api}
	}
	return is.confirmReached(ctx, tries)
}

func podAddress(p *corev1.Pod) string {
	return net.JoinHostPort(p.Status.PodIP, strconv.Itoa(probePort))
}

// apiAddress is empty if the API server has a name only.
func (is *isolation) apiAddress() string {
	u, err := url.Parse(is.cluster.config.Host)
	if err != nil || net.ParseIP(u.Hostname()).To4() == nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (is *isolation) openProbe(ctx context.Context, end *probePod) error {
	if err := is.namespaces.ensureSpace(ctx, end.space); err != nil {
		return err
	}
	pod := is.newPodSpec(time.Second)
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.Containers = []corev1.Container{{
		Name: mainContainer, Image: is.config.Helper, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{helperSource, "listen", strconv.Itoa(probePort)},
		SecurityContext: restrictedContext(unprivilegedUser),
		Resources:       resourceLimits(pipeline.Resources{CPU: 0.5, MemoryMiB: 64}, true),
	}}
	labels := end.space.labels(agent.KindRelay)
	labels[labelNetwork] = "yes"
	end.pod = &corev1.Pod{Spec: pod, ObjectMeta: metav1.ObjectMeta{Name: "probe",
		Namespace: end.space.name, Labels: labels}}
	return is.createPod(ctx, end.pod)
}

// awaitProbe waits until the agent reaches the pod: without a listener that is known to work, a
// failed connection would prove nothing.
func (is *isolation) awaitProbe(ctx context.Context, end *probePod) error {
	running, err := is.awaitRunning(ctx, end.pod, probeReady)
	if err != nil {
		return err
	}
	end.pod = running
	limited, cancel := context.WithTimeout(ctx, probeReady)
	defer cancel()
	for {
		// The dialer's own patience would be the whole time.
		once, done := context.WithTimeout(limited, 5*time.Second)
		conn, err := dialPod(once, end.pod.Status.PodIP, probePort)
		done()
		if err == nil {
			return conn.Close()
		}
		if wait.Sleep(limited, probePause) != nil {
			return fmt.Errorf("the agent does not reach a pod that admits it: %w", err)
		}
	}
}

// confirmReached retries what was reached: only what is reached every time counts as open.
func (is *isolation) confirmReached(
	ctx context.Context, tries map[string][2]string,
) (open []string, err error) {
	for try := range probeTries {
		for what, t := range tries {
			reached, err := is.canReach(ctx, t[0], t[1])
			if err != nil {
				return nil, err
			}
			if !reached {
				delete(tries, what)
			}
		}
		if len(tries) == 0 || try == probeTries-1 {
			break
		}
		if err := wait.Sleep(ctx, probePause); err != nil {
			return nil, err
		}
	}
	for _, what := range []string{"the pod of another", "one of yet another", "the API server"} {
		if _, is := tries[what]; is {
			open = append(open, what)
		}
	}
	return open, nil
}

func (is *isolation) canReach(ctx context.Context, namespace, address string) (bool, error) {
	output, code, err := is.runInPod(ctx, namespace, "probe", mainContainer,
		[]string{helperSource, "reach", address}, nil)
	switch {
	case err != nil:
		return false, err
	case code == 0:
		return true, nil
	case code == sidecar.ExitUnreachable:
		return false, nil
	}
	return false, fmt.Errorf("the probe ended with code %d: %s", code, output)
}

// removeSpaces removes the namespaces of a probe and waits until they are gone.
func (is *isolation) removeSpaces(ctx context.Context, ends []probePod) error {
	for _, end := range ends {
		if err := is.removeSpace(ctx, end.space); err != nil {
			return fmt.Errorf("remove the probe's namespace %s: %w", end.space.name, err)
		}
	}
	for _, end := range ends {
		for look := (throttle{pause: lostLook}); ; {
			there, err := is.cluster.namespaces.get(ctx, "", end.space.name)
			if apierrors.IsNotFound(err) {
				break
			}
			if err != nil {
				return wrapQueryErr(err)
			}
			if look.isDue() {
				is.removeLostIn(ctx, end.space.name)
			}
			if err := wait.Sleep(ctx, probePause); err != nil {
				return errors.Join(err, errors.New("it does not end"+explainTermination(there)))
			}
		}
	}
	return nil
}

func (is *isolation) removeSpace(ctx context.Context, s space) error {
	there, err := is.cluster.namespaces.get(ctx, "", s.name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return wrapQueryErr(err)
	case there.Labels[s.mark] != s.value || !strings.HasPrefix(s.name, is.names.prefix):
		return errors.New("it is not ours: remove it, or set another agent.kubernetes.prefix")
	case there.DeletionTimestamp != nil:
		return nil
	}
	return ignoreNotFound(is.cluster.namespaces.remove(ctx, "", s.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &there.UID}}))
}

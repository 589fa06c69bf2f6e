package kubernetes

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// pullSecretName is that of the one Secret in a namespace.
	pullSecretName = "nullops-pull"
	// pullTime is how long an image may be pulled before its credentials are taken away.
	pullTime  = 15 * time.Minute
	pullPause = 500 * time.Millisecond
	// hubKey is what machines look for when an image is on Docker Hub.
	hubKey = "https://index.docker.io/v1/"
)

// pullSecrets gives machines the credentials of private registries: as a Secret of the namespace,
// which is the only credential that the cluster stores. It exists while an image is being pulled
// with it, and not longer.
type pullSecrets struct {
	*base
	mu sync.Mutex
	// auths are the credentials of images, as Pull got them. They are in memory only.
	auths map[string]wire.RegistryAuth
	// uses are the credentials in each namespace's Secret, by who needs them.
	uses map[string]map[string]pullUse
}

// pullUse is the credential of one registry.
type pullUse struct {
	registry string
	auth     wire.RegistryAuth
}

func newPullSecrets(b *base) *pullSecrets {
	return &pullSecrets{base: b, auths: map[string]wire.RegistryAuth{},
		uses: map[string]map[string]pullUse{}}
}

// rememberAuth takes what an image was last pulled with; nil is without credentials.
func (ps *pullSecrets) rememberAuth(image pipeline.Image, auth *wire.RegistryAuth) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.auths, imageReference(image))
	if auth != nil {
		ps.auths[imageReference(image)] = *auth
	}
}

// authOf returns what an image was last pulled with, or nil.
func (ps *pullSecrets) authOf(image pipeline.Image) *wire.RegistryAuth {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if auth, known := ps.auths[imageReference(image)]; known {
		return &auth
	}
	return nil
}

var pullReference = corev1.LocalObjectReference{Name: pullSecretName}

// referToSecret has a pod use the Secret, if its image needs credentials. It is no part of the
// pod's digest, since an agent that was restarted does not know them.
func (ps *pullSecrets) referToSecret(pod *corev1.PodSpec, image pipeline.Image) {
	if ps.authOf(image) != nil {
		pod.ImagePullSecrets = append(slices.Clone(pod.ImagePullSecrets), pullReference)
	}
}

// provideSecret makes the Secret for a pod that is about to be made. release takes the credentials
// away once isDone says so; it must be called, after the pod was made or was not. Without
// credentials, both do nothing.
func (ps *pullSecrets) provideSecret(
	ctx context.Context, namespace, user string, image pipeline.Image,
) (release func(isDone func(context.Context) bool), err error) {
	auth := ps.authOf(image)
	if auth == nil {
		return func(func(context.Context) bool) {}, nil
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.uses[namespace] == nil {
		ps.uses[namespace] = map[string]pullUse{}
	}
	ps.uses[namespace][user] = pullUse{registry: image.Registry, auth: *auth}
	if err := ps.writeSecret(ctx, namespace); err != nil {
		delete(ps.uses[namespace], user)
		return nil, fmt.Errorf("give the cluster the credentials of registry %s: %w",
			image.Registry, err)
	}
	return func(isDone func(context.Context) bool) {
		go ps.takeAway(context.WithoutCancel(ctx), namespace, user, isDone)
	}, nil
}

// lendAgain gives the cluster the credentials for a pod that it made in place of another, whose
// machine has to pull the image too. It returns false for a pod that cannot be pulled and whose
// credentials this process does not have.
func (ps *pullSecrets) lendAgain(
	ctx context.Context, pod *corev1.Pod, image pipeline.Image,
) bool {
	switch {
	case !slices.Contains(pod.Spec.ImagePullSecrets, pullReference) || hasPulled(pod):
		return true
	case ps.authOf(image) == nil:
		return !cannotPull(pod)
	case ps.isLent(pod.Namespace, image.Registry):
		return true
	}
	release, err := ps.provideSecret(ctx, pod.Namespace, pod.Name, image)
	if err != nil {
		ps.log.DebugContext(ctx, "a pod's image cannot be pulled yet", "pod", pod.Name,
			"error", err)
		return true
	}
	release(ps.podHasPulled(pod.Namespace, pod.Name))
	return true
}

// isLent reports whether the namespace's Secret has credentials of a registry.
func (ps *pullSecrets) isLent(namespace, registry string) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, use := range ps.uses[namespace] {
		if use.registry == registry {
			return true
		}
	}
	return false
}

// takeAway waits until a pull is done, and removes what it needed.
func (ps *pullSecrets) takeAway(
	ctx context.Context, namespace, user string, isDone func(context.Context) bool,
) {
	limited, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	for !isDone(limited) && wait.Sleep(limited, pullPause) == nil {
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.uses[namespace], user)
	if err := ps.writeSecret(ctx, namespace); err != nil {
		ps.log.WarnContext(ctx, "credentials of a registry were not taken out of the cluster",
			"namespace", namespace, "error", err)
	}
}

// writeSecret brings the namespace's Secret to what is in use. mu is held.
func (ps *pullSecrets) writeSecret(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	uses := ps.uses[namespace]
	if len(uses) == 0 {
		delete(ps.uses, namespace)
		return ignoreNotFound(ps.secrets.remove(ctx, namespace, pullSecretName,
			metav1.DeleteOptions{}))
	}
	data, err := dockerConfig(uses)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: data},
		ObjectMeta: metav1.ObjectMeta{Name: pullSecretName, Namespace: namespace,
			Labels: map[string]string{labelInstall: ps.names.install}}}
	_, err = ps.secrets.create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		_, err = ps.secrets.update(ctx, secret)
	}
	return explainNamespace(wrapMutationErr(err))
}

// dockerConfig is the form that Kubernetes wants credentials in.
func dockerConfig(uses map[string]pullUse) ([]byte, error) {
	type entry struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Auth     string `json:"auth"`
	}
	auths := map[string]entry{}
	for _, user := range slices.Sorted(maps.Keys(uses)) {
		u := uses[user]
		key := u.registry
		if key == "" || key == "docker.io" {
			key = hubKey
		}
		auths[key] = entry{Username: u.auth.Username, Password: u.auth.Password,
			Auth: base64.StdEncoding.EncodeToString([]byte(u.auth.Username + ":" + u.auth.Password))}
	}
	return json.Marshal(map[string]any{"auths": auths})
}

// removeLeftovers removes what an agent left that was killed during a pull.
func (ps *pullSecrets) removeLeftovers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if err := ps.removeStale(ctx); err != nil {
		ps.log.WarnContext(ctx, "credentials of registries may be left in the cluster", "error", err)
	}
}

// removeStale removes the Secrets that an agent left which was killed during a pull.
func (ps *pullSecrets) removeStale(ctx context.Context) error {
	spaces, err := ps.cluster.namespaces.list(ctx, "", ps.names.ownSelector())
	if err != nil {
		return wrapQueryErr(err)
	}
	for _, n := range spaces {
		ps.mu.Lock()
		if len(ps.uses[n.Name]) == 0 {
			err = ignoreNotFound(ps.secrets.remove(ctx, n.Name, pullSecretName,
				metav1.DeleteOptions{}))
		}
		ps.mu.Unlock()
		if err != nil {
			return fmt.Errorf("in namespace %s: %w", n.Name, wrapMutationErr(err))
		}
	}
	return nil
}

// hasPulled reports whether a pod has its main image, or will not pull it any more.
func hasPulled(p *corev1.Pod) bool {
	s := containerState(p.Status.ContainerStatuses, mainContainer)
	return hasEnded(p) || s != nil && s.ImageID != ""
}

// cannotPull reports whether a machine has tried to pull the pod's main image in vain.
func cannotPull(p *corev1.Pod) bool {
	s := containerState(p.Status.ContainerStatuses, mainContainer)
	return s != nil && s.State.Waiting != nil &&
		strings.HasPrefix(describeWaiting(s.State.Waiting), noPull)
}

// podHasPulled is the end of a pull for a bare pod.
func (b *base) podHasPulled(namespace, name string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		p, err := b.getPod(ctx, namespace, name)
		return err == nil && (p == nil || hasPulled(p))
	}
}

// stepHasPulled is the end of a pull for a service. One that was stopped, removed or replaced by
// another version needs none.
func (sv *services) stepHasPulled(
	deployment string, step pipeline.StepKey, made string,
) func(context.Context) bool {
	return func(ctx context.Context) bool {
		w, err := sv.workloadOf(ctx, sv.names.namespaceName(deployment), step)
		if err != nil {
			return false
		}
		if w == nil || w.replicas == 0 || w.template.Labels[labelMade] != made {
			return true
		}
		p, err := sv.currentPod(ctx, deployment, step)
		return err == nil && p != nil && p.Labels[labelMade] == made && hasPulled(p)
	}
}

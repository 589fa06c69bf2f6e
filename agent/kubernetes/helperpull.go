package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
)

// helperSecretName is that of the Secret with which machines pull our helper.
const helperSecretName = "nullops-helper"

// ensureHelperSecret brings the credentials of the helper's image into a namespace, where each pod
// needs them for as long as it may get another machine. The cluster has them already: they are
// those with which the agent's own pod was pulled.
func (ns *namespaces) ensureHelperSecret(ctx context.Context, s space) error {
	if ns.config.PullSecrets == "" {
		return nil
	}
	data, err := readHelperCredentials(ns.config.PullSecrets, ns.config.Helper)
	if err != nil {
		return fmt.Errorf("setting agent.kubernetes.pullsecrets: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	secret := &corev1.Secret{Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: data},
		ObjectMeta: metav1.ObjectMeta{Name: helperSecretName, Namespace: s.name,
			Labels: s.labels(agent.KindNetwork)}}
	_, err = ns.secrets.create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		_, err = ns.secrets.update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("pull secret %s: %w", helperSecretName, explainNamespace(wrapMutationErr(err)))
	}
	return nil
}

// readHelperCredentials reads what the files of a folder have for the registry of an image, in the
// form that Kubernetes gives to the credentials of registries. No other registry's are copied.
func readHelperCredentials(folder, image string) ([]byte, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	found := map[string]json.RawMessage{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var config struct {
			Auths map[string]json.RawMessage `json:"auths"`
		}
		if json.Unmarshal(text, &config) != nil { // its error may quote a password
			return nil, fmt.Errorf("%s is not the .dockerconfigjson of a Secret", file)
		}
		for key, auth := range config.Auths {
			if registryOf(key) == ref.Context().RegistryStr() {
				found[key] = auth
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no file in %s has credentials of registry %s, from which the "+
			"helper is pulled", folder, ref.Context().RegistryStr())
	}
	return json.Marshal(map[string]any{"auths": found})
}

// registryOf is the registry that a key of such a file is about; it may have a scheme and a path.
func registryOf(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, _, _ := strings.Cut(key, "/")
	if host == "docker.io" {
		return name.DefaultRegistry
	}
	return host
}

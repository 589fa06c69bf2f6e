//go:build kubernetes

package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nullops/nullops/agent/kubernetes"
)

// installer speaks to the API server with every right, as kubectl does for an administrator.
type installer struct {
	t      *testing.T
	client *http.Client
	config *rest.Config
}

func newInstaller(t *testing.T) installer {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clusterVariable))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return installer{t, client, config}
}

// do returns the answer, and the warnings that came with it.
func (i installer) do(method, path string, body any) (answer map[string]any, warnings []string) {
	i.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		i.t.Fatal(err)
	}
	request, err := http.NewRequest(method, i.config.Host+path, bytes.NewReader(text))
	if err != nil {
		i.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := i.client.Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || response.StatusCode >= 300 {
		i.t.Fatalf("%s %s: %d %s, %v", method, path, response.StatusCode, text, err)
	}
	return answer, response.Header.Values("Warning")
}

// folders are where the API has objects of a kind.
var folders = map[string]string{
	"ServiceAccount": "serviceaccounts", "PersistentVolumeClaim": "persistentvolumeclaims",
	"ConfigMap": "configmaps", "Service": "services", "Deployment": "deployments",
	"Ingress": "ingresses", "Role": "roles", "RoleBinding": "rolebindings",
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
}

// install makes the namespace and the objects of a manifest, as strictly as the API server reads
// them. Only accounts and rights stay; all else is a dry run. It returns them by their kinds.
func (i installer) install(file, namespace string) map[string]map[string]any {
	i.t.Helper()
	i.do("POST", "/api/v1/namespaces", map[string]any{"metadata": map[string]any{
		"name": namespace, "labels": map[string]any{
			// A pod that "restricted" would not admit comes with a warning.
			"pod-security.kubernetes.io/warn": "restricted"}}})
	i.t.Cleanup(func() { i.do("DELETE", "/api/v1/namespaces/"+namespace, nil) })
	text, err := os.ReadFile(filepath.Join("../../deploy/manifests", file))
	if err != nil {
		i.t.Fatal(err)
	}
	made := map[string]map[string]any{}
	from := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var object map[string]any
		if err := from.Decode(&object); errors.Is(err, io.EOF) {
			return made
		} else if err != nil {
			i.t.Fatal(err)
		}
		if object == nil {
			continue // comments
		}
		kind := object["kind"].(string)
		path := objectFolder(i.t, object, namespace)
		stays := kind == "ServiceAccount" || strings.Contains(kind, "Role")
		query := "?fieldValidation=Strict"
		if !stays {
			query += "&dryRun=All"
		}
		if _, warnings := i.do("POST", path+query, object); len(warnings) > 0 {
			i.t.Errorf("%s %s: %v", file, kind, warnings)
		}
		name := object["metadata"].(map[string]any)["name"].(string)
		if stays && !strings.HasPrefix(path, "/apis/"+object["apiVersion"].(string)+
			"/namespaces/"+namespace) && kind != "ServiceAccount" {
			i.t.Cleanup(func() { i.do("DELETE", path+"/"+name, nil) })
		}
		made[kind] = object
	}
}

func objectFolder(t *testing.T, object map[string]any, namespace string) string {
	t.Helper()
	kind, version := object["kind"].(string), object["apiVersion"].(string)
	if folders[kind] == "" {
		t.Fatalf("this test does not know the kind %s", kind)
	}
	path := "/apis/" + version
	if version == "v1" {
		path = "/api/v1"
	}
	if !strings.HasPrefix(kind, "Cluster") {
		is, _ := object["metadata"].(map[string]any)["namespace"].(string)
		if is != namespace && (is != "default" || !strings.HasPrefix(kind, "Role")) {
			t.Fatalf("%s is in the namespace %q", kind, is)
		}
		path += "/namespaces/" + is
	}
	return path + "/" + folders[kind]
}

// signIn writes a kubeconfig for a service account.
func (i installer) signIn(namespace, account string) (kubeconfig string) {
	i.t.Helper()
	answer, _ := i.do("POST", "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
			"spec": map[string]any{}})
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config",
		"current-context": "x", "clusters": []any{map[string]any{"name": "c",
			"cluster": map[string]any{"server": i.config.Host,
				"certificate-authority":      i.config.CAFile,
				"certificate-authority-data": i.config.CAData,
				"insecure-skip-tls-verify":   i.config.Insecure,
				"tls-server-name":            i.config.ServerName}}},
		"users": []any{map[string]any{"name": "u", "user": map[string]any{
			"token": answer["status"].(map[string]any)["token"]}}},
		"contexts": []any{map[string]any{"name": "x",
			"context": map[string]any{"cluster": "c", "user": "u"}}}})
	if err != nil {
		i.t.Fatal(err)
	}
	kubeconfig = filepath.Join(i.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		i.t.Fatal(err)
	}
	return kubeconfig
}

// A real API server takes every object of the agent's manifest as it is, and its pod meets
// "restricted". The account has every right that the agent needs, and works with them. A right that
// is taken away is named.
func TestInstall_GrantsTheRightsOfTheAgent(t *testing.T) {
	i := newInstaller(t)
	made := i.install("nullops-agent.yaml", "nullops-agent")
	config := kubernetes.Config{Kubeconfig: i.signIn("nullops-agent", "nullops-agent"),
		Install: uuid.NewString(), Helper: "registry.test/nullops/agent:1",
		Admit: []netip.Prefix{netip.MustParsePrefix(os.Getenv(addressVariable) + "/32")}}
	if missing, err := kubernetes.FindMissingRights(t.Context(), config); err != nil ||
		len(missing) > 0 {
		t.Fatalf("the account lacks %v, %v", missing, err)
	}
	k, err := kubernetes.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	deployment := uuid.NewString()
	if err := k.Prepare(t.Context(), deployment); err != nil {
		t.Errorf("with the account's rights: %v", err)
	}
	if left, err := k.RemoveDeployment(t.Context(), deployment); err != nil || len(left) > 0 {
		t.Errorf("removing leaves %v, %v", left, err)
	}
	if inventory, err := k.Inventory(t.Context()); err != nil || inventory.Cluster == nil ||
		!strings.HasPrefix(inventory.Cluster.Version, "v1.") ||
		len(inventory.Cluster.Machines) == 0 {
		t.Errorf("the cluster is %+v, %v", inventory.Cluster, err)
	}
	role := made["ClusterRole"]
	for _, rule := range role["rules"].([]any) {
		rule := rule.(map[string]any)
		if slices.Contains(rule["resources"].([]any), any("pods/exec")) {
			rule["verbs"] = []any{"get"}
		}
	}
	name := role["metadata"].(map[string]any)["name"].(string)
	i.do("PUT", "/apis/rbac.authorization.k8s.io/v1/clusterroles/"+name, role)
	missing, err := kubernetes.FindMissingRights(t.Context(), config)
	for n := 0; err == nil && len(missing) == 0 && n < 100; n++ {
		// The API server learns of changed roles a moment later.
		missing, err = kubernetes.FindMissingRights(t.Context(), config)
	}
	if err != nil || !slices.Equal(missing, []string{"create pods/exec"}) {
		t.Errorf("without the right, %v is missing, %v", missing, err)
	}
}

// A real API server takes the control plane's manifest too.
func TestInstall_ControlPlaneIsTaken(t *testing.T) {
	newInstaller(t).install("nullops.yaml", "nullops")
}

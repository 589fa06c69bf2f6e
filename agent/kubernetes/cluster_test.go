//go:build kubernetes

package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// spaceVariable names the node's network namespace.
const spaceVariable = "NULLOPS_TEST_KUBERNETES_SPACE"

// admin speaks to the API server with every right, as kubectl would.
type admin struct {
	t      *testing.T
	client *http.Client
	host   string
}

func newAdmin(t *testing.T) admin {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clusterVariable))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return admin{t: t, client: client, host: config.Host}
}

// request returns the status and the text of an answer; body is JSON, or empty.
func (a admin) request(method, path, body string) (int, string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.t.Context()), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.host+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := a.client.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// mustDo fails the test unless the cluster does it.
func (a admin) mustDo(method, path, body string) string {
	a.t.Helper()
	status, text := a.request(method, path, body)
	if status >= 300 {
		a.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

// listed is what the API server answers to a list.
type listed struct {
	Items []struct {
		Metadata struct {
			Name      string            `json:"name"`
			Namespace string            `json:"namespace"`
			UID       string            `json:"uid"`
			Labels    map[string]string `json:"labels"`
		} `json:"metadata"`
		Spec struct {
			ClaimRef *struct {
				Namespace string `json:"namespace"`
			} `json:"claimRef"`
		} `json:"spec"`
		Status struct {
			PodIP string `json:"podIP"`
		} `json:"status"`
	} `json:"items"`
}

func (a admin) list(path string) (l listed) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.mustDo(http.MethodGet, path, "")), &l); err != nil {
		a.t.Fatal(err)
	}
	return l
}

// makeClass makes a StorageClass of the test's own, whose volumes the controller manager makes, and
// returns its name.
func (a admin) makeClass() string {
	a.t.Helper()
	return a.makeClassOf("kubernetes.io/host-path")
}

// makeClassOf makes one for as long as the test runs, so that no later test finds it.
func (a admin) makeClassOf(provisioner string) (name string) {
	a.t.Helper()
	const path = "/apis/storage.k8s.io/v1/storageclasses"
	name = "nullops-test-" + uuid.NewString()
	a.mustDo(http.MethodPost, path, fmt.Sprintf(`{"metadata":{"name":%q},
		"provisioner":%q,"reclaimPolicy":"Delete"}`, name, provisioner))
	a.t.Cleanup(func() { a.mustDo(http.MethodDelete, path+"/"+name, "") })
	return name
}

// namespacedKinds are the paths of all that can be listed in a namespace.
func (a admin) namespacedKinds() (paths []string) {
	a.t.Helper()
	groups := []string{"/api/v1"}
	var found struct {
		Groups []struct {
			PreferredVersion struct {
				GroupVersion string `json:"groupVersion"`
			} `json:"preferredVersion"`
		} `json:"groups"`
	}
	if err := json.Unmarshal([]byte(a.mustDo(http.MethodGet, "/apis", "")), &found); err != nil {
		a.t.Fatal(err)
	}
	for _, g := range found.Groups {
		groups = append(groups, "/apis/"+g.PreferredVersion.GroupVersion)
	}
	for _, group := range groups {
		var kinds struct {
			Resources []struct {
				Name       string   `json:"name"`
				Namespaced bool     `json:"namespaced"`
				Verbs      []string `json:"verbs"`
			} `json:"resources"`
		}
		text := a.mustDo(http.MethodGet, group, "")
		if err := json.Unmarshal([]byte(text), &kinds); err != nil {
			a.t.Fatal(err)
		}
		for _, k := range kinds.Resources {
			if k.Namespaced && strings.Contains(strings.Join(k.Verbs, " "), "list") {
				paths = append(paths, group+"/namespaces/%s/"+k.Name)
			}
		}
	}
	return paths
}

// dumpStore returns the keys and values of everything that etcd has now.
func dumpStore(t *testing.T) map[string]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "nsenter",
		"--net=/run/netns/"+os.Getenv(spaceVariable), "curl", "-sf", "-d",
		`{"key":"AA==","range_end":"AA=="}`, "http://127.0.0.1:12379/v3/kv/range")
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		t.Fatalf("read etcd: %v %s", err, said.String())
	}
	var answer struct {
		Items []struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"kvs"`
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, i := range answer.Items {
		key, errKey := base64.StdEncoding.DecodeString(i.Key)
		value, errValue := base64.StdEncoding.DecodeString(i.Value)
		if errKey != nil || errValue != nil {
			t.Fatal(errKey, errValue)
		}
		all[string(key)] = string(value)
	}
	return all
}

// findIn returns the keys of what holds a text, plainly or in base64.
func findIn(all map[string]string, text string) (keys []string) {
	for key, value := range all {
		for shift := range 3 {
			// In base64, what a text becomes depends on where in three bytes it begins.
			padded := strings.Repeat("x", shift) + text
			encoded := base64.StdEncoding.EncodeToString([]byte(padded))
			inner := strings.TrimRight(encoded, "=")
			inner = inner[min(4, len(inner)) : len(inner)-1]
			if strings.Contains(value, text) || strings.Contains(value, inner) {
				keys = append(keys, key)
				break
			}
		}
	}
	return keys
}

//go:build kubernetes

package kubernetes_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// mustRefuse fails unless the service is refused with these words, and nothing is made for it.
func (r *rig) mustRefuse(a admin, s agent.ServiceSpec, words ...string) {
	r.t.Helper()
	err := r.StartService(r.t.Context(), s)
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			r.t.Errorf("the error does not say %q: %v", word, err)
		}
	}
	if errors.Is(err, agent.ErrUnavailable) {
		r.t.Errorf("it would be tried for ever: %v", err)
	}
	namespace := r.namespaceOf(s.Deployment)
	for _, path := range []string{"/api/v1/namespaces/%s/pods", "/api/v1/namespaces/%s/services",
		"/api/v1/namespaces/%s/persistentvolumeclaims", "/apis/apps/v1/namespaces/%s/deployments",
		"/apis/apps/v1/namespaces/%s/statefulsets"} {
		for _, o := range a.list(fmt.Sprintf(path, namespace)).Items {
			if o.Metadata.Labels["nullops.step"] == string(s.Step) {
				r.t.Errorf("after the refusal, there is %s in %s", o.Metadata.Name, path)
			}
		}
	}
}

// The project's limit holds what all services of a deployment use together, and nothing else:
// plugins run beside a deployment that has used it up. It follows the project.
func TestLimitDeployment_HoldsServicesToTheProjectsLimit(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	limit := func(cpu float64, memory int) {
		t.Helper()
		if err := r.LimitDeployment(t.Context(), deployment,
			pipeline.Resources{CPU: cpu, MemoryMiB: memory}, 2); err != nil {
			t.Fatal(err)
		}
	}
	limit(0.5, 300)
	web, api := r.echoService(deployment, "web"), r.echoService(deployment, "api")
	web.Resources = pipeline.Resources{CPU: 0.5, MemoryMiB: 200}
	api.Resources = pipeline.Resources{CPU: 0.5, MemoryMiB: 100}
	r.start(web)
	actor := buildProgram(t, "../docker/dockertest/testdata/actor")
	plugin := agent.PluginSpec{Deployment: deployment, Run: "run", Step: "make", Action: "create",
		Image: r.publish("nullops-test/echo", "actor", actor,
			v1.Config{Entrypoint: []string{"/actor", "behave", "echo"}})}
	if result, err := r.RunPlugin(t.Context(), plugin, []byte("{}"), func(string) {}); err != nil ||
		result.ExitCode != 0 {
		t.Errorf("beside a service that uses the limit up, a plugin ends as %+v, %v", result, err)
	}
	r.mustRefuse(a, api, "the project's limit has no room for it", "limits.cpu=500m")
	r.mustRefuse(a, jobOf(api), "the project's limit has no room for it")
	limit(1, 300)
	r.start(api)
	// A container that names no limits gets some, and is not refused for having none.
	a.mustDo(http.MethodPost, "/api/v1/namespaces/"+r.namespaceOf(deployment)+"/pods?dryRun=All",
		`{"metadata":{"name":"debug"},"spec":{"activeDeadlineSeconds":60,
			"containers":[{"name":"x","image":"x"}]}}`)
	limit(0, 0)
	for _, kind := range []string{"resourcequotas", "limitranges"} {
		if left := a.list("/api/v1/namespaces/" + r.namespaceOf(deployment) + "/" + kind); len(
			left.Items) > 0 {
			t.Errorf("without a limit there are %s: %+v", kind, left)
		}
	}
}

func jobOf(s agent.ServiceSpec) agent.ServiceSpec {
	s.Once, s.Ready = true, nil
	return s
}

// A quota that somebody else has put on a namespace is told from the project's limit.
func TestStartService_NamesForeignQuota(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	r := newRigWith(t, inClass(a.makeClass()))
	deployment := r.newDeployment()
	a.mustDo(http.MethodPost, "/api/v1/namespaces/"+r.namespaceOf(deployment)+"/resourcequotas",
		`{"metadata":{"name":"small"},"spec":{"hard":{"limits.memory":"1Mi"}}}`)
	db := r.echoService(deployment, "db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	words := []string{"a quota of its namespace, which is not NullOps'", "exceeded quota: small"}
	r.mustRefuse(a, db, words...)
	r.mustRefuse(a, jobOf(r.echoService(deployment, "job")), words...)
}

// refuseAll has the cluster ask a webhook about each pod of one namespace, which refuses it.
func refuseAll(t *testing.T, a admin, namespace, why string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	address := os.Getenv(addressVariable)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		NotBefore: time.Now().Add(-time.Hour), IPAddresses: []net.IP{net.ParseIP(address)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			var review struct {
				Request struct {
					UID string `json:"uid"`
				} `json:"request"`
			}
			_ = json.NewDecoder(r.Body).Decode(&review)
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1",
				"kind": "AdmissionReview", "response": map[string]any{"uid": review.Request.UID,
					"allowed": false, "status": map[string]any{"message": why}}})
		}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der},
		PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: der}))
	const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	a.mustDo(http.MethodPost, path, fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{
		"name":"refuses.nullops.test","admissionReviewVersions":["v1"],"sideEffects":"None",
		"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":%q}},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],
			"operations":["CREATE"]}],
		"clientConfig":{"url":%q,"caBundle":%q}}]}`, namespace, namespace,
		"https://"+listener.Addr().String(), authority))
	t.Cleanup(func() { a.mustDo(http.MethodDelete, path+"/"+namespace, "") })
}

// What an admission webhook refuses is one error in its words, before anything is made.
func TestStartService_NamesWebhookThatRefuses(t *testing.T) {
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	const why = "images from there are forbidden here"
	refuseAll(t, a, r.namespaceOf(deployment), why)
	a.await("the webhook is asked", func() bool {
		_, text := a.request(http.MethodPost, "/api/v1/namespaces/"+r.namespaceOf(deployment)+
			"/pods?dryRun=All", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"x",
				"image":"x"}]}}`)
		return strings.Contains(text, why)
	})
	r.mustRefuse(a, r.echoService(deployment, "web"), "the cluster refuses its pod",
		"refuses.nullops.test", why)
	r.mustRefuse(a, jobOf(r.echoService(deployment, "job")), why)
	never := r.echoService(deployment, "never")
	never.Never = true
	r.mustRefuse(a, never, why)
	_, err := r.RunPlugin(t.Context(), agent.PluginSpec{Deployment: deployment, Run: "run",
		Step: "make", Action: "create", Image: never.Image}, nil, func(string) {})
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("a plugin: %v", err)
	}
}

// An update that collides with somebody else's is made again, and loses nothing.
func TestStartService_RepeatsUpdatesThatCollide(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	a, r := newAdmin(t), newRig(t)
	deployment := r.newDeployment()
	web := r.echoService(deployment, "web")
	r.start(web)
	path := "/apis/apps/v1/namespaces/" + r.namespaceOf(deployment) + "/deployments/web"
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				a.request(http.MethodPatch, path, fmt.Sprintf(
					`{"metadata":{"annotations":{"somebody.test/number":"%d"}}}`, i))
				_ = wait.Sleep(t.Context(), 10*time.Millisecond)
			}
		}
	}()
	for i := range 5 {
		web.Env = map[string]string{"ROUND": fmt.Sprint(i)}
		if err := r.StartService(t.Context(), web); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
	}
	close(stop)
	<-done
	text := a.mustDo(http.MethodGet, path, "")
	if !strings.Contains(text, `"name":"ROUND","value":"4"`) ||
		!strings.Contains(text, "somebody.test/number") {
		t.Errorf("the Deployment is %s", text)
	}
}

// A cluster hands GPUs out by their number. The ids that the node itself has made up stand for one
// each; those of a driver are refused.
func TestStartService_GetsGPUs(t *testing.T) {
	testpart.Rotate(t)
	a := newAdmin(t)
	const status = "/api/v1/nodes/node1/status"
	a.mustDo(http.MethodPatch, status, `{"status":{"capacity":{"nullops.test/gpu":"2"}}}`)
	t.Cleanup(func() {
		a.mustDo(http.MethodPatch, status, `{"status":{"capacity":{"nullops.test/gpu":null}}}`)
	})
	r := newRigWith(t, func(c *kubernetes.Config) { c.GPUResource = "nullops.test/gpu" })
	var ids []string
	a.await("the node has two GPUs", func() bool {
		i, err := r.Inventory(t.Context())
		ids = nil
		for _, g := range i.GPUs {
			ids = append(ids, g.UUID)
		}
		return err == nil && len(ids) == 2
	})
	if want := []string{"node1/0", "node1/1"}; !slices.Equal(ids, want) {
		t.Errorf("its GPUs are %q", ids)
	}
	deployment := r.newDeployment()
	one, two := r.echoService(deployment, "one"), r.echoService(deployment, "two")
	one.GPUs, two.GPUs = &pipeline.GPUs{DeviceIDs: ids[:1]}, &pipeline.GPUs{Count: 2}
	r.start(one)
	if err := r.StartService(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	r.awaitProbe(two, "says that GPUs are missing", func(p agent.ProbeResult) bool {
		return strings.Contains(p.Detail, "Insufficient nullops.test/gpu")
	})
	if _, err := r.StopService(t.Context(), deployment, "one"); err != nil {
		t.Fatal(err)
	}
	r.awaitReady(two)
	three := r.echoService(deployment, "three")
	three.GPUs = &pipeline.GPUs{DeviceIDs: []string{"GPU-8f1e"}}
	r.mustRefuse(a, three, "GPU-8f1e", "by their number only", "gpus.count")
}

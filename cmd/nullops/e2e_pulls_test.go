package main_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// ingressFeed stands before the real registry. It wants a password, can point the tag
// v1.0.0 at another image, can keep engines that ask by digest waiting, and can
// want another password of engines: creating asks it too, and is let through.
type ingressFeed struct {
	*httptest.Server
	password  atomic.Pointer[string]
	repointed atomic.Bool
	open      chan struct{}
}

func newFront(t *testing.T, p *product, password string) *ingressFeed {
	t.Helper()
	f := &ingressFeed{open: make(chan struct{})}
	f.password.Store(&password)
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.w.registry})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		engine, wanted := strings.HasPrefix(r.UserAgent(), "docker/"), password
		if engine {
			wanted = *f.password.Load()
		}
		if _, word, _ := r.BasicAuth(); word != wanted {
			w.Header().Set("WWW-Authenticate", `Basic realm="front"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if engine && strings.Contains(r.URL.Path, "sha256:") {
			select {
			case <-f.open:
			case <-r.Context().Done():
				return
			}
		}
		if f.repointed.Load() {
			r.URL.Path = strings.Replace(r.URL.Path, "/manifests/v1.0.0", "/manifests/v1.1.0", 1)
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// pulls deploys from a registry whose tag is moved while the deployment waits for
// its images, and which then no longer knows our password.
func pulls(t *testing.T, p *product) {
	const password = "front-door-7Yq2"
	f := newFront(t, p, password)
	p.admin.put(t, "/registries/front", object{"host": f.Listener.Addr().String(),
		"insecure": true, "username": "robot", "password": password}, nil)
	p.admin.put(t, "/services/front-web", object{"registry": "front", "image": "shop/web",
		"tag_mode": "selectable"}, nil)
	p.admin.put(t, "/plugins/front-plugin", object{"registry": "front", "image": "test/hostile",
		"tag": "1.0.0", "component": object{"actions": []string{"create"},
			"parameters": object{"type": "object"}}}, nil)
	web := webStep("web")
	web["service"].(object)["name"] = "front-web"
	p.define(t, "front", web, object{"key": "plugin", "needs": []string{"web"},
		"plugin": object{"name": "front-plugin"}})
	was := p.digest(t, "shop/web", "v1.0.0")

	d := p.admin.deploy(t, "front", "moved", map[string]string{"web": "v1.0.0"})
	f.repointed.Store(true)
	close(f.open)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	image := p.node("alpha").containers(t, d.Id)["web"].Config.Image
	if !strings.HasSuffix(image, "@"+was) {
		t.Errorf("the tag was moved after the request, and %s runs; wanted %s", image, was)
	}
	p.admin.remove(t, d.Id)

	// The images are on the node now, and no less private for that.
	p.define(t, "front", object{"key": "plugin", "plugin": object{"name": "front-plugin"}})
	other := "another-door-1Zx8"
	f.password.Store(&other)
	d = p.admin.deploy(t, "front", "refused", nil)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusFailed)
	// promise: N-073
	if d.Failure == nil || d.Failure.Code != "image_pull" ||
		!strings.Contains(d.Failure.Message, "does not let this deployment have it") ||
		strings.Contains(d.Failure.Message, password) {
		t.Errorf("failure %+v", d.Failure)
	}
	p.admin.remove(t, d.Id)
}

// digest is what a tag of the real registry stands for.
func (p *product) digest(t *testing.T, repository, tag string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead,
		"http://"+p.w.registry+"/v2/"+repository+"/manifests/"+tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"application/vnd.oci.image.manifest.v1+json",
		"application/vnd.docker.distribution.manifest.v2+json"} {
		r.Header.Add("Accept", kind)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	digest := answer.Header.Get("Docker-Content-Digest")
	if digest == "" {
		t.Fatalf("%s:%s has no digest: %s", repository, tag, answer.Status)
	}
	return digest
}

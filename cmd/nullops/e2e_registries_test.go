package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// registries uses registries that misbehave, and one that wants a password.
func registries(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	quit := make(chan struct{})
	t.Cleanup(func() { close(quit) })
	for _, bad := range []struct {
		name string
		code string
		says string
		as   http.HandlerFunc
	}{
		{"down", "registry_down", "cannot be reached", nil},
		{"garbage", "registry_garbage", "none of a registry",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<h1>Hello</h1>")) }},
		{"denied", "registry_denied", "user name and password",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
				w.WriteHeader(http.StatusUnauthorized)
			}},
		{"busy", "registry_busy", "asks us to wait",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
			}},
		{"broken", "registry_down", "error 500",
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		{"slow", "registry_slow", "in time",
			func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-quit:
				}
			}},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(bad.as)
			if bad.as == nil {
				server.Close()
			} else {
				t.Cleanup(server.Close)
			}
			p.misbehaving(t, bad.name, server.Listener.Addr().String(), bad.code, bad.says)
		})
	}
	t.Run("private", func(t *testing.T) {
		t.Parallel()
		privateRegistry(t, p)
	})
	t.Run("pulls", func(t *testing.T) {
		t.Parallel()
		pulls(t, p)
	})
}

// misbehaving defines a service at the registry, and tries to use it.
func (p *product) misbehaving(t *testing.T, name, host, code, says string) {
	t.Helper()
	p.admin.put(t, "/registries/"+name, object{"host": host, "insecure": true}, nil)
	p.admin.put(t, "/services/"+name, object{"registry": name, "image": "shop/web",
		"tag_mode": "selectable", "tag": "v1.0.0"}, nil)
	web := webStep("web")
	web["service"].(object)["name"] = name
	p.define(t, "with-"+name, web)
	const status = http.StatusServiceUnavailable
	tags := p.admin.expectProblem(t, status, http.MethodGet, "/services/"+name+"/tags", nil, says)
	made := p.admin.expectProblem(t, status, http.MethodPost, "/deployments", object{"name": name,
		"project": "with-" + name, "environment": "qa"}, says)
	plugin := p.admin.expectProblem(t, status, http.MethodPut, "/plugins/from-"+name, object{
		"registry": name, "image": "a", "tag": "1", "component": object{}}, says)
	for _, problem := range []apiclient.Problem{tags, made, plugin} {
		if problem.Code != code || textOf(problem.Remedy) == "" {
			t.Errorf("code %q, remedy %q; wanted %s", problem.Code, textOf(problem.Remedy), code)
		}
	}
	var list apiclient.DeploymentList
	p.admin.get(t, "/deployments?removed=true&project=with-"+name+"&name="+name, &list)
	if len(list.Items) > 0 {
		t.Errorf("a refused deployment is there: %+v", list.Items)
	}
}

// privateRegistry stands in front of the real one and wants a password. Its
// list of tags is ours.
func privateRegistry(t *testing.T, p *product) {
	const user, password = "robot", "canary-registry/password+4711"
	var tags atomic.Value
	tags.Store([]string{"v1.0.0", "v1.1.0", "feat-cart-redesign-51d0e7b"})
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.w.registry})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, word, ok := r.BasicAuth()
		switch {
		case !ok || name != user || word != password:
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/tags/list"):
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(object{"name": "shop/web", "tags": tags.Load()})
		default:
			behind.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	registry := object{"host": server.Listener.Addr().String(), "insecure": true}
	p.admin.put(t, "/registries/private", registry, nil)
	service := object{"registry": "private", "image": "shop/web", "tag_mode": "selectable",
		"pattern": "v*"}
	p.admin.put(t, "/services/private-web", service, nil)
	p.admin.expectProblem(t, http.StatusServiceUnavailable, http.MethodGet,
		"/services/private-web/tags",
		nil, "user name and password")
	registry["username"], registry["password"] = user, password
	p.admin.put(t, "/registries/private", registry, nil)
	if shown := p.admin.ask(t, http.MethodGet, "/registries/private", nil); strings.Contains(
		shown.body, password) {
		t.Errorf("the password is shown: %s", shown.body)
	}
	// promise: N-028
	if got := p.listOfferedTags(t, "private-web"); got != "v1.0.0 v1.1.0" && got != "v1.1.0 v1.0.0" {
		t.Errorf("through the pattern come %q", got)
	}
	tags.Store([]string{"v1.0.0", "v1.1.0", "v1.2.0-rc.1"})
	// promise: N-029
	eventually(t, "a new tag is offered", func() string {
		if got := p.listOfferedTags(t, "private-web"); !strings.Contains(got, "v1.2.0-rc.1") {
			return "only " + got
		}
		return ""
	})
	service["pattern"] = ""
	delete(service, "pattern")
	p.admin.put(t, "/services/private-web", service, nil)
	tags.Store([]string{"v1.0.0", "main-3f2a1bc"})
	// promise: N-030
	eventually(t, "without a pattern all tags are offered", func() string {
		if got := p.listOfferedTags(t, "private-web"); !strings.Contains(got, "main-3f2a1bc") {
			return "only " + got
		}
		return ""
	})
	component := object{"actions": []string{"create"}, "parameters": object{"type": "object"}}
	p.admin.put(t, "/plugins/private-plugin", object{"registry": "private",
		"image": "test/hostile", "tag": "1.1.0", "component": component}, nil)
	web := webStep("web")
	web["service"].(object)["name"] = "private-web"
	p.define(t, "private", web, object{"key": "plugin", "needs": []string{"web"},
		"plugin": object{"name": "private-plugin"}})
	d := p.admin.deployReady(t, "private", "private", map[string]string{"web": "v1.0.0"})
	p.answers(t, serviceURL(t, d, "web")) // promise: N-022, N-070
	// promise: N-023
	for _, hit := range p.sightings(t, p.node("alpha"), password) {
		t.Errorf("the registry's password is in %s", hit)
	}
	p.admin.remove(t, d.Id)
}

// listOfferedTags lists the tags that people may choose from.
func (p *product) listOfferedTags(t *testing.T, service string) string {
	t.Helper()
	var list apiclient.TagList
	p.admin.get(t, "/services/"+service+"/tags", &list)
	var tags []string
	for _, tag := range list.Items {
		tags = append(tags, tag.Tag)
	}
	return strings.Join(tags, " ")
}

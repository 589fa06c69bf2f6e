package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// With another domain, later deployments have other URLs; running ones keep their addresses until
// they are recreated, under the same name.
func TestEnvironment_DomainChangesURLs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	var before, changed, after struct {
		Domain   string
		Services []struct{ URL string }
	}
	first := w.deploy("first")
	path := "/deployments/" + string(first.ID)
	w.expect(http.StatusOK, "GET", path, root, nil, &before)
	w.expect(http.StatusOK, "PUT", "/environments/qa", root,
		object{"domain": "lab.example.org"}, &changed)
	w.expect(http.StatusOK, "GET", path, root, nil, &after)
	if len(before.Services) == 0 || before.Services[0].URL == "" ||
		after.Services[0] != before.Services[0] {
		t.Errorf("what runs was at %+v and is at %+v", before.Services, after.Services)
	}
	w.expect(http.StatusAccepted, "DELETE", path, root, nil, nil)
	now, err := w.lifecycle.Get(t.Context(), system, first.ID)
	w.expectSaved(nil, err)
	w.report(now, lifecycle.Report{Status: controlplane.Removed})
	again := w.deploy("first")
	w.expect(http.StatusOK, "GET", "/deployments/"+string(again.ID), root, nil, &after)
	old, url := before.Services[0].URL, after.Services[0].URL
	host := strings.TrimSuffix(strings.Split(url, "//")[1], ":8081")
	host, _, _ = strings.Cut(host, ":")
	// promise: N-181
	if url == old || !strings.HasSuffix(host, ".first.qa.lab.example.org") ||
		w.routeOf(host).Deployment != again.ID {
		t.Errorf("it was at %s, and is at %s", old, url)
	}
}

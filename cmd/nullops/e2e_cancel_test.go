package main_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// cancelAnywhere deletes deployments while they are being created: in every kind
// of step, at once, while they are being undone, and twice.
//
// fault: F55
func cancelAnywhere(t *testing.T, w *world) {
	testpart.Rotate(t)
	p, book := w.product(), newLedger(t)
	n := p.node("alpha")
	first := book.ledgerStep("first", "ledger", nil, nil)
	never := webStep("busy", "first")
	never["service"].(object)["ready"] = object{"tcp": object{"port": 9999}, "retries": 1000}
	p.define(t, "cancel-plugin", first, book.ledgerStep("busy", "ledger-sleep", []string{"first"},
		object{"seconds": 120}))
	p.define(t, "cancel-service", first, never)
	p.define(t, "cancel-undo", book.ledgerStep("first", "ledger", nil,
		object{"delete_mode": "ledger-sleep", "seconds": 3}),
		hostileStep("busy", []string{"first"}, object{"mode": "say-no"}))
	cases := []struct {
		project string
		// busy is the step, and until its status, in which the deletion comes.
		busy   string
		until  apiclient.StepStatus
		ledger []string
	}{
		{"cancel-plugin", "busy", apiclient.StepStatusRunning,
			[]string{"create first", "create busy", "delete busy", "delete first"}},
		{"cancel-service", "busy", apiclient.StepStatusRunning,
			[]string{"create first", "delete first"}},
		{"cancel-undo", "first", apiclient.StepStatusUndoing,
			[]string{"create first", "delete first"}},
	}
	started := map[string]apiclient.Deployment{}
	for _, c := range cases {
		started[c.project] = p.admin.deploy(t, c.project, c.project, nil)
	}
	for _, c := range cases {
		d := started[c.project]
		eventually(t, c.project+" is busy", func() string {
			s := findStep(t, p.admin.run(t, d), c.busy)
			if s.Status != c.until || c.project == "cancel-plugin" && len(book.of(d.Name)) < 2 {
				return string(s.Status)
			}
			return ""
		})
		n.mustBeThere(t, d.Id, "network")
		p.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+d.Id, nil, nil)
		p.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+d.Id, nil, nil)
	}
	for _, c := range cases {
		// promise: N-253, N-254, N-255
		d := p.admin.await(t, started[c.project].Id, apiclient.DeploymentStatusCanceled)
		if got := book.of(d.Name); !slices.Equal(got, c.ledger) {
			t.Errorf("%s: ledger %v, wanted %v", c.project, got, c.ledger)
		}
		n.nothingLeft(t, d.Id)
		again := p.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+d.Id, nil, nil)
		if now := p.admin.deployment(t, d.Id); now.Status != apiclient.DeploymentStatusCanceled {
			t.Errorf("deleting once more made it %s: %s", now.Status, again.body)
		}
	}
	cancelAtOnce(t, p, n)
	if w.cluster == nil { // machines of a cluster pull when a pod starts, and not in the step's pull
		cancelPull(t, p, n)
	}
	endsAtDeadline(t, p, n, book)
}

// endsAtDeadline has a run take far longer than its maker gave it: the plugin is
// stopped, all is undone, and it can be retried with the time it takes.
func endsAtDeadline(t *testing.T, p *product, n *node, book *ledger) {
	t.Helper()
	p.define(t, "slow", book.ledgerStep("first", "ledger", nil, nil),
		book.ledgerStep("busy", "ledger-sleep", []string{"first"}, object{"seconds": 300}))
	var d apiclient.Deployment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/deployments", object{"name": "slow",
		"project": "slow", "environment": "qa", "deadline_seconds": 8}, &d)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusFailed)
	// promise: B-15
	if d.Failure == nil || d.Failure.Code != "deadline" || d.Failure.Step != nil ||
		!strings.HasPrefix(d.Failure.Message, "it was not ready by its deadline") {
		t.Errorf("at its deadline: %+v", d.Failure)
	}
	for _, line := range book.of(d.Name) {
		action, step, _ := strings.Cut(line, " ")
		if action == "create" && !slices.Contains(book.of(d.Name), "delete "+step) {
			t.Errorf("%s was not undone: %v", step, book.of(d.Name))
		}
	}
	n.nothingLeft(t, d.Id)
	p.define(t, "slow", webStep("web"))
	p.admin.want(t, http.StatusAccepted, http.MethodPost, "/deployments/"+d.Id+"/retry",
		object{"deadline_seconds": 600}, nil)
	p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	p.admin.remove(t, d.Id)
}

// cancelPull deletes while an image is pulled that never arrives, and pulls one
// whose layers are gone.
func cancelPull(t *testing.T, p *product, n *node) {
	t.Helper()
	quit := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		image, _, isManifest := strings.Cut(r.URL.Path, "/manifests/")
		switch {
		case isManifest:
			body := emptyManifest(image)
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", digestOf(body))
			_, _ = w.Write(body)
		case strings.Contains(r.URL.Path, "/never/blobs/"):
			select {
			case <-r.Context().Done():
			case <-quit:
			}
		case strings.Contains(r.URL.Path, "/blobs/"):
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(quit) })
	p.admin.put(t, "/registries/stuck", object{"host": server.Listener.Addr().String(),
		"insecure": true}, nil)
	made := map[string]apiclient.Deployment{}
	for _, image := range []string{"never", "gone"} {
		p.admin.put(t, "/services/pull-"+image, object{"registry": "stuck", "image": image,
			"tag_mode": "pinned", "tag": "1"}, nil)
		web := webStep("web", "first")
		web["service"].(object)["name"] = "pull-" + image
		p.define(t, "pull-"+image, hostileStep("first", nil, object{}), web)
		made[image] = p.admin.deploy(t, "pull-"+image, "pull-"+image, nil)
	}
	d := p.admin.await(t, made["gone"].Id, apiclient.DeploymentStatusFailed)
	// promise: N-098
	if d.Failure == nil || d.Failure.Code != "image_pull" || textOf(d.Failure.Step) != "web" {
		t.Errorf("an image without layers: %+v", d.Failure)
	}
	n.nothingLeft(t, d.Id)
	d = made["never"]
	eventually(t, "the image is being pulled", func() string {
		s := findStep(t, p.admin.run(t, d), "web")
		if s.Status != apiclient.StepStatusPulling {
			return string(s.Status) + " " + textOf(s.Message)
		}
		return ""
	})
	if d = p.admin.remove(t, d.Id); d.Status != apiclient.DeploymentStatusCanceled {
		t.Errorf("canceled while pulling, it is %s", d.Status)
	}
	n.nothingLeft(t, d.Id)
	p.admin.remove(t, made["gone"].Id)
}

// emptyManifest is of an image that exists nowhere else.
func emptyManifest(name string) []byte {
	return fmt.Appendf(nil, `{"schemaVersion":2,`+
		`"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":`+
		`{"mediaType":"application/vnd.docker.container.image.v1+json","size":2,"digest":%q},`+
		`"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip",`+
		`"size":2,"digest":%q}]}`, digestOf([]byte(name)), digestOf([]byte("layer "+name)))
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// cancelAtOnce deletes before anything happened, and uses the name again.
func cancelAtOnce(t *testing.T, p *product, n *node) {
	t.Helper()
	p.define(t, "quick", webStep("web"))
	for range 3 {
		d := p.admin.deploy(t, "quick", "quick", nil)
		d = p.admin.remove(t, d.Id)
		if d.Status != apiclient.DeploymentStatusCanceled {
			t.Errorf("canceled at once, it is %s", d.Status)
		}
		n.nothingLeft(t, d.Id)
	}
	d := p.admin.deployReady(t, "quick", "quick", nil)
	n.mustBeThere(t, d.Id, "container", "network", "file")
	if d = p.admin.remove(t, d.Id); d.Status != apiclient.DeploymentStatusRemoved {
		t.Errorf("removed when ready, it is %s", d.Status)
	}
	n.nothingLeft(t, d.Id)
}

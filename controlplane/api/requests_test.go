package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
)

// The id in a request's answer is found again in the audit, in the run that it
// began, in the events that listeners hear, and in what webhooks are told, also
// where a node's report came in between, and until another request says what
// should become of the deployment.
func TestRequestID_FromAnswerToWebhook(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	r := startReceiver(t, 0)
	w.makeWebhook("ci", r.URL, object{"events": []string{"deployment.created", "deployment.ready",
		"deployment.removed"}})
	root, full := w.token("root"), w.token("full")
	listen := w.open("/api/v1/events", full, "")
	listen.until(isNamed("reset"))

	created := w.call("POST", "/api/v1/deployments", full, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "1.1"}})
	d := w.deployReady("first")
	w.traceRequest(created, root, "create deployment", listen, "ready")
	run := w.call("GET", "/api/v1/deployments/"+string(d.ID)+"/runs/1", full, nil)
	removed := w.call("DELETE", "/api/v1/deployments/"+string(d.ID), full, nil)
	w.reaches(d, controlplane.Removed)
	w.traceRequest(removed, root, "remove deployment", listen, "removed")

	began, ended := created.header.Get("X-Request-Id"), removed.header.Get("X-Request-Id")
	// promise: G-23
	if run.field("request_id") != began || began == ended {
		t.Errorf("the run says %s, its request was %s", run.body, began)
	}
	_, bodies := r.wait(t, 3)
	// Messages that are due at once come in any order.
	for event, request := range map[string]string{"deployment.created": began,
		"deployment.ready": began, "deployment.removed": ended} {
		of := func(body string) bool {
			return strings.Contains(body, `"event":"`+event+`"`) &&
				strings.Contains(body, `"request_id":"`+request+`"`)
		}
		// promise: G-23
		if !slices.ContainsFunc(bodies, of) {
			t.Errorf("no message says %s by request %s: %q", event, request, bodies)
		}
	}
}

// traceRequest looks for the request of an answer in the audit and in the events of
// the listener, up to the one where the deployment has the status.
func (w *world) traceRequest(a answer, root, action string, l *listener, status string) {
	w.t.Helper()
	id := a.header.Get("X-Request-Id")
	if a.status >= http.StatusMultipleChoices || id == "" {
		w.t.Fatalf("%s: %d %s", action, a.status, a.body)
	}
	entry := w.newest(root, "full").Items[0]
	// promise: G-23
	if entry.Action != action || entry.RequestId == nil || *entry.RequestId != id {
		w.t.Errorf("the newest entry is %+v, want %s by request %s", entry, action, id)
	}
	l.until(func(e event) bool {
		if e.name != "deployment" {
			return false
		}
		d := decodeEvent[api.Deployment](w.t, e)
		// promise: G-23
		if d.RequestId == nil || *d.RequestId != id && string(d.Status) == status {
			w.t.Errorf("an event says %s, its request was %s", e.data, id)
		}
		return string(d.Status) == status
	})
}

package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// appliedLabels are the labels that count for a node.
func (w *world) appliedLabels(root, node string) map[string]string {
	w.t.Helper()
	a := w.call("GET", "/api/v1/nodes/"+node, root, nil)
	var read struct {
		Applied struct{ Labels map[string]string } `json:"applied_settings"`
	}
	if err := json.Unmarshal(a.body, &read); err != nil {
		w.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return read.Applied.Labels
}

// newTemplated is a template with the labels and two nodes that follow it, one with a label of
// its own.
func newTemplated(labels object) []object {
	node := func(name, host string, own object) object {
		return newDocument("node", name, object{"environment": "qa", "template": "gpu",
			"address": host + ":5000", "settings": object{"labels": own}})
	}
	return []object{node("one", "10.20.30.40", object{}),
		node("two", "10.20.30.41", object{"model.flux": "own"}),
		newDocument("node-template", "gpu", object{"description": "with GPUs",
			"settings": object{"labels": labels,
				"taints": []object{{"key": "gpu", "effect": "no_schedule"}}}})}
}

// A node template that changes is applied to the nodes that follow it, with it or not at all, and
// what was set for a node itself counts more.
func TestNodeTemplates_NodesFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	apply := func(set []object) answer {
		return w.call("POST", documentsPath, root, object{"documents": set})
	}
	expect := func(node string, want map[string]string) {
		t.Helper()
		if got := w.appliedLabels(root, node); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has the labels %v, want %v", node, got, want)
		}
	}
	first := newTemplated(object{"model.flux": "yes", "zone": "fra"})
	if a := apply(first); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	expect("one", map[string]string{"model.flux": "yes", "zone": "fra"})
	expect("two", map[string]string{"model.flux": "own", "zone": "fra"})
	again := apply(first)
	for _, action := range again.documents().actions() {
		if !strings.HasSuffix(action, " unchanged") {
			t.Errorf("applied twice: %s", action)
		}
	}
	// The list of models changes: another comes, one goes.
	changed := w.call("PUT", "/api/v1/node-templates/gpu", root,
		object{"settings": object{"labels": object{"model.qwen": "yes", "zone": "fra"}}})
	if changed.status != http.StatusOK || changed.field("changed") != "true" {
		t.Errorf("%d %s", changed.status, changed.body)
	}
	// promise: Y-14
	expect("one", map[string]string{"model.qwen": "yes", "zone": "fra"})
	// promise: Y-14
	expect("two", map[string]string{"model.flux": "own", "model.qwen": "yes", "zone": "fra"})
	if journal := w.listAudit(root); !strings.Contains(journal, `"put node template"`) {
		t.Errorf("audit: %s", journal)
	}
	bad := w.call("PUT", "/api/v1/node-templates/gpu", root,
		object{"settings": object{"labels": object{"nullops/arch": "x"}}})
	if bad.status != http.StatusBadRequest {
		t.Errorf("a label of ours: %d %s", bad.status, bad.body)
	}
	expect("one", map[string]string{"model.qwen": "yes", "zone": "fra"})
	used := w.call("DELETE", "/api/v1/node-templates/gpu", root, nil)
	if used.status != http.StatusConflict ||
		!slices.Equal(used.documents().Users, []string{"node one", "node two"}) {
		t.Errorf("deleted in use: %d %s", used.status, used.body)
	}
}

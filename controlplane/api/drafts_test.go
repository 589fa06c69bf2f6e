package api_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/internal/testpart"
)

const draftPath = "/api/v1/projects/shop/draft"

// putDraft saves a draft over the revision that match names, "" for none.
func (w *world) putDraft(token, match string, content any) answer {
	w.t.Helper()
	body, err := json.Marshal(object{"base_version": 1, "content": content})
	if err != nil {
		w.t.Fatal(err)
	}
	header := http.Header{"Authorization": {"Bearer " + token},
		"Content-Type": {"application/json"}}
	if match != "" {
		header.Set("If-Match", match)
	}
	return w.send("PUT", draftPath, header, strings.NewReader(string(body)))
}

// window is one browser: what it believes to be saved, and its revision.
type window struct {
	name    string
	match   string
	content map[string]any
}

func (b *window) load(t *testing.T, w *world, token string) {
	t.Helper()
	a := w.call("GET", draftPath, token, nil)
	d := decodeAnswer[api.Draft](t, a)
	b.match, b.content = a.header.Get("ETag"), map[string]any{}
	if d.Content != nil {
		b.content = *d.Content
	}
}

// edit counts one edit of the window into the draft. A refused save is loaded
// and drawn again, as the editor does.
func (b *window) edit(t *testing.T, w *world, token string) (refused bool) {
	t.Helper()
	for range 3 {
		count, _ := b.content[b.name].(float64)
		b.content[b.name] = count + 1
		a := w.putDraft(token, b.match, b.content)
		if a.status == http.StatusOK {
			b.match = a.header.Get("ETag")
			return refused
		}
		if a.status != http.StatusConflict || a.field("code") != "draft_changed" {
			t.Fatalf("save: %d %s", a.status, a.body)
		}
		refused = true
		b.load(t, w, token)
	}
	t.Fatal("refused three times in a row, by nobody")
	return refused
}

// Two windows of one person edit one pipeline 1,000 times, in an order that
// neither knows of: each edit is in the draft at the end.
func TestDrafts_TwoWindowsLoseNothing(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	windows := []*window{{name: "left"}, {name: "right"}}
	for _, b := range windows {
		b.load(t, w, root)
	}
	random, refused := rand.New(rand.NewPCG(11, 11)), 0
	const edits = 1000
	for range edits {
		if windows[random.IntN(2)].edit(t, w, root) {
			refused++
		}
	}
	var last window
	last.load(t, w, root)
	left, _ := last.content["left"].(float64)
	right, _ := last.content["right"].(float64)
	if left+right != edits {
		t.Errorf("%v + %v edits are in the draft, %d were made", left, right, edits)
	}
	if refused == 0 || refused == edits {
		t.Errorf("%d refusals: the windows did not get in each other's way", refused)
	}
}

// A lost answer is sent again; a deleted draft cannot be overwritten by who saw
// it before; a person's draft is nobody else's.
func TestDrafts_RevisionsAreNeverReused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	if d := decodeAnswer[api.Draft](t, w.call("GET", draftPath, root, nil)); d.Revision != 0 ||
		d.Content != nil {
		t.Errorf("without a draft: %+v", d)
	}
	content := object{"steps": []any{object{"key": "", "position": object{"x": 1.5, "y": -2}}}}
	first := w.putDraft(root, "", content)
	again := w.putDraft(root, "", content)
	if first.status != 200 || again.header.Get("ETag") != first.header.Get("ETag") {
		t.Errorf("the same twice: %s, %s", first.body, again.body)
	}
	if a := w.putDraft(root, "", object{"other": true}); a.status != http.StatusConflict {
		t.Errorf("a first draft over another: %d %s", a.status, a.body)
	}
	if a := w.call("DELETE", draftPath, root, nil); a.status != http.StatusNoContent {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	second := w.putDraft(root, "", object{"begun": "anew"})
	old := w.putDraft(root, first.header.Get("ETag"), object{"from": "the old window"})
	if second.status != 200 || old.status != http.StatusConflict {
		t.Errorf("anew: %s; over it: %d %s", second.body, old.status, old.body)
	}
	header := http.Header{"Authorization": {"Bearer " + root}, "If-Match": {`"1"`}}
	if a := w.send("DELETE", draftPath, header, nil); a.status != http.StatusConflict {
		t.Errorf("delete another revision: %d %s", a.status, a.body)
	}
	if a := w.call("PUT", "/api/v1/projects/none/draft", root,
		object{"base_version": 0, "content": object{}}); a.status != http.StatusNotFound {
		t.Errorf("draft of no project: %d", a.status)
	}
	for _, bad := range []string{"7", `"x"`, `W/"7"`} {
		if a := w.putDraft(root, bad, content); a.status != http.StatusBadRequest {
			t.Errorf("If-Match %s: %d %s", bad, a.status, a.body)
		}
	}
}

// What was drawn on an older version is not published over a newer one, and
// comments stay with the version without reaching a run.
//
// fault: F55
func TestPipelines_AreNotPublishedOverOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	edited := shopPipeline()
	edited.Steps[0].Service.Env["MODE"] = "qa"
	put := func(base int) answer {
		return w.call("PUT", "/api/v1/projects/shop/pipeline", root,
			object{"pipeline": edited, "base": base})
	}
	if saved := decodeAnswer[catalog.PipelineSaved](t, put(1)); saved.Version != 2 {
		t.Errorf("on the newest: %+v", saved)
	}
	edited.Steps[0].Service.Env["MODE"] = "other"
	a := put(1)
	if a.status != http.StatusConflict || a.field("code") != "outdated" {
		t.Errorf("on an older one: %d %s", a.status, a.body)
	}
	if a := put(2); a.status != 200 {
		t.Errorf("after merging: %s", a.body)
	}
}

package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/testpart"
)

// newDocument returns one of a set.
func newDocument(kind, name string, definition object) object {
	return object{"kind": kind, "name": name, "definition": definition}
}

// newShop is a set in which everything refers to something of the same set, written
// in the reverse of the order in which it must be applied.
func newShop() []object {
	return []object{
		newDocument("webhook", "told", object{"format": "json", "url": "https://hooks.example.test/x",
			"events": []string{"deployment.ready"}, "project": "store"}),
		newDocument("project", "store", object{"resources": object{"memory_mib": 128},
			"secrets": object{"KEY": object{"value": projectSecret}},
			"pipeline": object{"steps": []object{
				{"key": "web", "service": object{"name": "web",
					"env":       object{"KEY": "${{ secrets.KEY }}", "ROWS": "${{ input.rows }}"},
					"resources": object{"memory_mib": 64}}},
				{"key": "fill", "needs": []string{"web"}, "plugin": object{"name": "fill"}}},
				"input": []object{{"name": "rows", "type": "integer", "default": 2, "max": 9}}},
			"templates": object{"small": object{"environment": "night", "wait": true,
				"input": object{"rows": 3}}}}),
		newDocument("environment", "night", object{"domain": "night.test", "gate": "members"}),
		newDocument("plugin", "fill", object{"registry": "own", "image": "plugins/fill", "tag": "1.0",
			"component": object{}}),
		newDocument("service", "web", object{"registry": "own", "image": "store/web",
			"tag_mode": "pinned", "tag": "1.0"}),
		newDocument("registry", "own", object{"host": "localhost:5009", "insecure": true}),
	}
}

// editDocument returns the set with one field of one document changed.
func editDocument(set []object, kind, field string, value any) []object {
	for i, d := range set {
		if d["kind"] == kind {
			definition := maps.Clone(d["definition"].(object))
			definition[field] = value
			set[i] = newDocument(kind, d["name"].(string), definition)
		}
	}
	return set
}

type documentsAnswer struct {
	Results []struct {
		Document     *int
		Kind, Name   string
		Part, Action string
		Secret       string
		Changes      []struct{ Path string }
	}
	Unlisted []struct{ Kind, Name string }
	Users    []string
	Problems []struct {
		Document                   *int
		Step, Field, Code, Message string
		Users                      []string
	}
}

func (a answer) documents() (out documentsAnswer) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, &out); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	return out
}

// actions are "kind name part action", in order.
func (d documentsAnswer) actions() (all []string) {
	for _, r := range d.Results {
		all = append(all, strings.Join(strings.Fields(
			r.Kind+" "+r.Name+" "+r.Part+" "+r.Action), " "))
	}
	return all
}

const documentsPath = "/api/v1/documents"

// everything is what the API lists of all kinds, and the audit journal's length.
func (w *world) everything(root string) string {
	w.t.Helper()
	var all strings.Builder
	for _, path := range []string{"registries", "services", "plugins", "environments", "nodes",
		"users", "projects", "teams", "webhooks", "rules"} {
		a := w.call("GET", "/api/v1/"+path, root, nil)
		fmt.Fprintf(&all, "%s: %d %s\n", path, a.status, a.body)
	}
	return all.String()
}

func (w *world) listAudit(root string) string {
	w.t.Helper()
	return string(w.call("GET", "/api/v1/audit?limit=200", root, nil).body)
}

// A set that is right is applied as a whole, its preview says the same and changes
// nothing, and applying it again changes nothing.
func TestDocuments_PreviewSaysWhatApplyingDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	before, journal := w.everything(root), w.listAudit(root)
	preview := w.call("POST", documentsPath+"/preview", root, object{"documents": newShop()})
	if after := w.everything(root); after != before || w.listAudit(root) != journal {
		t.Errorf("a preview changed\n%s\nto\n%s", before, after)
	}
	applied := w.call("POST", documentsPath, root, object{"documents": newShop()})
	want := []string{"registry own created", "service web created", "plugin fill created",
		"environment night created", "project store created", "project store secret KEY created",
		"project store pipeline created", "project store template small created",
		"webhook told created"}
	if got := preview.documents().actions(); !slices.Equal(got, want) {
		t.Errorf("preview: %d %s", preview.status, preview.body)
	}
	if got := applied.documents().actions(); !slices.Equal(got, want) {
		t.Fatalf("applied: %d %s", applied.status, applied.body)
	}
	last := func(a answer) string {
		all := a.documents().Results
		return all[len(all)-1].Secret
	}
	if last(preview) != "" || last(applied) == "" {
		t.Errorf("the signing key: %q in the preview, %q after", last(preview), last(applied))
	}
	if gate := w.call("GET", "/api/v1/environments/night/gate", root, nil); gate.field("gate") !=
		"members" {
		t.Errorf("gate: %s", gate.body)
	}
	for _, entry := range []string{"put registry", "put service", "put plugin", "put webhook",
		"save pipeline", "put secret"} {
		if !strings.Contains(w.listAudit(root), entry) {
			t.Errorf("no audit entry %q", entry)
		}
	}
	again := w.call("POST", documentsPath, root, object{"documents": newShop()})
	for _, action := range again.documents().actions() {
		if !strings.HasSuffix(action, " unchanged") {
			t.Errorf("applied twice: %s", action)
		}
	}
	changed := w.call("POST", documentsPath, root,
		object{"documents": editDocument(newShop(), "environment", "gate", "guests")}).documents()
	if !slices.Contains(changed.actions(), "environment night changed") ||
		changed.Results[3].Changes[0].Path != "gate" {
		t.Errorf("a changed gate: %+v", changed)
	}
}

// One bad document at the end undoes all those before it, and every problem is named, once.
func TestDocuments_AllOrNothing(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	before := w.everything(root)
	for what, c := range map[string]struct {
		set  []object
		want []string
	}{
		"the last kind": {editDocument(newShop(), "webhook", "url", "ftp://nowhere"), []string{"0  url"}},
		"a type": {editDocument(newShop(), "environment", "cleanup_after_hours", "soon"),
			[]string{"2  cleanup_after_hours: This is text, and a whole number is expected."}},
		"a field": {editDocument(newShop(), "service", "colour", "red"),
			[]string{"4  colour: There is no field colour here."}},
		// That the pipeline does not find the service is no problem of its own.
		"what others need": {editDocument(newShop(), "registry", "host", "not a host"),
			[]string{"5  host"}},
		"a plugin's tag": {editDocument(newShop(), "plugin", "tag", "never-built"),
			[]string{"3  : There is no tag never-built."}},
		"two steps": {editDocument(newShop(), "project", "pipeline", object{"steps": []object{
			{"key": "one", "service": object{"name": "web", "env": object{"A=B": "c"},
				"resources": object{"memory_mib": 64}}},
			{"key": "two", "service": object{"name": "nope", "resources": object{
				"memory_mib": 64}}}}}), []string{"1 two service.name", "1 one service.env"}},
		"no stored value": {editDocument(newShop(), "project", "secrets",
			object{"KEY": object{"from_env": "STORE_KEY"}}),
			[]string{"1  secrets.KEY.from_env: No value is stored yet, and the environment " +
				"variable STORE_KEY is empty."}},
		"twice": {append(newShop(), newDocument("service", "web", object{})), []string{"6  name"}},
	} {
		missing.Store("never-built", true)
		preview := w.call("POST", documentsPath+"/preview", root, object{"documents": c.set})
		applied := w.call("POST", documentsPath, root, object{"documents": c.set})
		if preview.status != applied.status || applied.status < 400 ||
			applied.field("code") != "documents_refused" {
			t.Errorf("%s: preview %d, applied %d %s", what, preview.status, applied.status, applied.body)
		}
		for _, a := range []answer{preview, applied} {
			found := a.documents().Problems
			if len(found) != len(c.want) {
				t.Errorf("%s: %s, want %q", what, a.body, c.want)
				continue
			}
			for i, p := range found {
				got := fmt.Sprintf("%d %s %s: %s", *p.Document, p.Step, p.Field, p.Message)
				if !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("%s: %q, want %q", what, got, c.want[i])
				}
			}
		}
	}
	if after := w.everything(root); after != before {
		t.Errorf("something was left behind:\n%s\nbefore\n%s", after, before)
	}
	// What was refused is in the audit, what was undone is not.
	if journal := w.listAudit(root); !strings.Contains(journal, `"put webhook"`) ||
		strings.Contains(journal, `"registry own","result":"ok"`) {
		t.Errorf("audit: %s", journal)
	}
}

// Values that are stored stay without being sent again, and the same ones sent
// again are no change.
func TestDocuments_KeepStoredValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	hook := object{"format": "json", "events": []string{"deployment.ready"}}
	with := func(field string, value any) object {
		out := maps.Clone(hook)
		out[field] = value
		return out
	}
	address := "https://hooks.example.test/x"
	first := w.call("POST", documentsPath, root, object{"documents": []object{
		newDocument("webhook", "hook", with("url", address))}})
	if first.status != http.StatusOK {
		t.Fatalf("%d %s", first.status, first.body)
	}
	kept := w.call("POST", documentsPath, root, object{"documents": []object{
		newDocument("registry", "local", object{"host": "localhost:5000", "insecure": true,
			"username": "puller", "password_from_env": "P"}),
		newDocument("user", "full", object{"role": "user", "display_name": "full",
			"password_from_env": "P"}),
		newDocument("webhook", "hook", with("url", address)),
		newDocument("project", "shop", object{"resources": object{"cpu": 2, "memory_mib": 1024},
			"secrets": object{"API_TOKEN": object{"from_env": "SHOP_API_TOKEN"}}})}})
	for _, action := range kept.documents().actions() {
		if !strings.HasSuffix(action, " unchanged") {
			t.Errorf("%s: %s", action, kept.body)
		}
	}
	if n := len(kept.documents().Results); n != 5 {
		t.Errorf("%d results: %s", n, kept.body)
	}
	for _, hidden := range []string{"X", address} {
		again := w.call("POST", documentsPath, root, object{"documents": []object{
			newDocument("webhook", "hook", with("url_from_env", hidden))}})
		if got := again.documents().actions(); !slices.Equal(got, []string{"webhook hook unchanged"}) {
			t.Errorf("%s", again.body)
		}
	}
	// A password is for one host: another one cannot keep it, and is told so.
	moved := w.call("POST", documentsPath, root, object{"documents": []object{
		newDocument("registry", "local", object{"host": "localhost:5001", "insecure": true,
			"username": "puller", "password_from_env": "P"})}})
	if p := moved.documents().Problems; len(p) != 1 || p[0].Field != "password_from_env" ||
		p[0].Message != "The stored value is for localhost:5000, and the environment variable P "+
			"is empty." {
		t.Errorf("another host: %d %s", moved.status, moved.body)
	}
}

// What is in use is not deleted, who uses it is named, and nothing else of the same
// set happens.
func TestDocuments_DeleteInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.deploy("first")
	root := w.token("root")
	gone := func(kind, name string) object {
		return object{"kind": kind, "name": name, "action": "delete"}
	}
	set := []object{newDocument("environment", "night", object{"domain": "night.test"}),
		gone("project", "shop"), gone("team", "team-reader"), gone("service", "api")}
	before := w.everything(root)
	a := w.call("POST", documentsPath, root, object{"documents": set})
	found := a.documents().Problems
	if a.status != http.StatusConflict || len(found) != 2 || *found[0].Document != 1 ||
		!slices.Equal(found[0].Users, []string{"deployment first"}) ||
		!slices.Equal(found[1].Users, []string{"project shop"}) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if after := w.everything(root); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	// A project is deleted before what it uses, whatever the order of the documents.
	made := w.call("POST", documentsPath, root, object{"documents": newShop()})
	if made.status != http.StatusOK {
		t.Fatalf("%d %s", made.status, made.body)
	}
	var all []object
	for _, d := range newShop() {
		all = append(all, gone(d["kind"].(string), d["name"].(string)))
	}
	slices.Reverse(all)
	deleted := w.call("POST", documentsPath, root, object{"documents": all})
	if got := deleted.documents().actions(); len(got) != 6 || got[0] != "webhook told deleted" ||
		got[5] != "registry own deleted" {
		t.Errorf("%d %s", deleted.status, deleted.body)
	}
}

// Pruning deletes what the same owner held before, and nothing of anybody else.
func TestDocuments_PruneByOwner(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	environment := func(names ...string) (set []object) {
		for _, name := range names {
			set = append(set, newDocument("environment", name, object{"domain": name + ".test"}))
		}
		return set
	}
	apply := func(o object) answer { return w.call("POST", documentsPath, root, o) }
	preview := func(o object) answer { return w.call("POST", documentsPath+"/preview", root, o) }
	ok := func(a answer, want ...string) {
		t.Helper()
		if got := a.documents().actions(); !slices.Equal(got, want) {
			t.Errorf("%d %s, want %q", a.status, a.body, want)
		}
	}
	refused := func(a answer, code string) {
		t.Helper()
		if a.status < 400 || !strings.Contains(string(a.body), `"`+code+`"`) {
			t.Errorf("%d %s, want %s", a.status, a.body, code)
		}
	}
	apply(object{"documents": environment("loose")})
	apply(object{"documents": environment("a", "b", "c"), "owner": "one"})
	apply(object{"documents": environment("d"), "owner": "two"})
	refused(apply(object{"documents": environment("a"), "prune": true}), "owner_missing")
	refused(apply(object{"documents": environment("a"), "owner": "Not A Name"}), "name_invalid")
	// What belongs to another owner is taken over on purpose only.
	refused(apply(object{"documents": environment("a", "d"), "owner": "one"}), "other_owner")
	// Without prune it is only said what the owner holds besides.
	left := apply(object{"documents": environment("a", "b"), "owner": "one"})
	ok(left, "environment a unchanged", "environment b unchanged")
	if u := left.documents().Unlisted; len(u) != 1 || u[0].Name != "c" {
		t.Errorf("unlisted: %s", left.body)
	}
	// A definition that another person deleted and created again no longer belongs to the set.
	w.call("DELETE", "/api/v1/environments/b", root, nil)
	apply(object{"documents": environment("b")})
	prune := object{"documents": environment("a"), "owner": "one", "prune": true}
	ok(preview(prune), "environment a unchanged", "environment c deleted")
	// What came to the owner after a preview is not deleted by what was previewed.
	shown := object{"kind": "environment", "name": "c"}
	apply(object{"documents": environment("late"), "owner": "one"})
	previewed := object{"documents": environment("a"), "owner": "one", "prune": true,
		"prune_only": []object{shown}}
	before := w.everything(root)
	refused(apply(previewed), "changed_meanwhile")
	previewed["prune_only"] = []object{}
	refused(apply(previewed), "changed_meanwhile")
	if after := w.everything(root); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	w.call("DELETE", "/api/v1/environments/late", root, nil)
	previewed["prune_only"] = []object{shown, {"kind": "environment", "name": "late"}}
	ok(preview(previewed), "environment a unchanged", "environment c deleted")
	ok(apply(prune), "environment a unchanged", "environment c deleted")
	ok(apply(prune), "environment a unchanged")
	names := w.call("GET", "/api/v1/environments", root, nil)
	for _, name := range []string{"loose", "a", "b", "d"} {
		if !strings.Contains(string(names.body), `"name":"`+name+`"`) {
			t.Errorf("%s is gone: %s", name, names.body)
		}
	}
	// What is in use is not pruned, and then nothing is applied.
	apply(object{"documents": []object{newDocument("node", "n", object{"environment": "a",
		"address": "127.0.0.1:9"})}})
	before = w.everything(root)
	used := object{"documents": environment("e"), "owner": "one", "prune": true}
	refused(preview(used), "in_use")
	refused(apply(used), "in_use")
	if after := w.everything(root); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	ok(apply(object{"documents": environment("a", "d"), "owner": "one", "take_over": true}),
		"environment a unchanged", "environment d unchanged")
	ok(apply(object{"documents": environment("x"), "owner": "two", "prune": true}),
		"environment x created")
}

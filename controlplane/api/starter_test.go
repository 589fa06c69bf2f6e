package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// starterPlugins are the settings with which a pipeline uses the plugin of an entry. SERVER is the
// step of the service.
var starterPlugins = map[string]object{
	"postgres-database": {"parameters": object{"host": "${{ services.SERVER.host }}",
		"database": "shop"},
		"secrets": object{"adminPassword": "${{ secrets.POSTGRES_PASSWORD }}"}},
	"mysql-database": {"parameters": object{"host": "${{ services.SERVER.host }}", "database": "shop"},
		"secrets": object{"adminPassword": "${{ secrets.SECRET }}"}},
	"redis-user": {"parameters": object{"host": "${{ services.SERVER.host }}", "user": "shop"},
		"secrets": object{"adminPassword": "${{ secrets.REDIS_PASSWORD }}"}},
	"rabbitmq-vhost": {"parameters": object{"host": "${{ services.SERVER.host }}", "vhost": "shop",
		"admin_user": "admin"},
		"secrets": object{"adminPassword": "${{ secrets.RABBITMQ_PASSWORD }}"}},
	"s3-bucket": {"parameters": object{"endpoint": "http://${{ services.SERVER.host }}:9000",
		"bucket": "shop"},
		"secrets": object{"accessKey": "${{ secrets.MINIO_USER }}",
			"secretKey": "${{ secrets.MINIO_PASSWORD }}"}},
	"keycloak-user": {"parameters": object{"url": "http://${{ services.SERVER.host }}:8080",
		"realm": "master", "username": "tester"},
		"secrets": object{"adminPassword": "${{ secrets.KEYCLOAK_PASSWORD }}"}},
	"oauth-redirect-uri": {"parameters": object{"url": "http://${{ services.SERVER.host }}:8080",
		"realm": "master", "client_id": "account", "redirect_uri": "${{ services.SERVER.url }}/*"},
		"secrets": object{"adminPassword": "${{ secrets.KEYCLOAK_PASSWORD }}"}},
}

type starterEntry struct {
	Name, Group, Description, Image, Registry, Document string
	Secrets, Volumes, Plugins, Services                 []string
	Ports                                               []int
	Gpus                                                int
	Resources                                           struct {
		CPU       float64
		MemoryMiB int `json:"memory_mib"`
	}
}

func (w *world) listStarter(root string) (all []starterEntry) {
	w.t.Helper()
	var found struct{ Items []starterEntry }
	a := w.call("GET", "/api/v1/catalogue", root, nil)
	if err := json.Unmarshal(a.body, &found); err != nil || len(found.Items) == 0 {
		w.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return found.Items
}

// stepOf is a step of a service as the editor begins it.
func (w *world) stepOf(root, service string) object {
	w.t.Helper()
	a := w.call("GET", "/api/v1/services/"+service, root, nil)
	var read struct{ Step object }
	if err := json.Unmarshal(a.body, &read); err != nil || read.Step == nil {
		w.t.Fatalf("%s: %d %s: %v", service, a.status, a.body, err)
	}
	return object{"key": service, "service": read.Step}
}

// starterPipeline uses a service, what comes with it, and its plugins.
func (w *world) starterPipeline(root string, e starterEntry) []object {
	own := w.stepOf(root, e.Name)
	steps := []object{own}
	for _, other := range e.Services {
		steps = append(steps, w.stepOf(root, other))
		own["needs"] = e.Services
	}
	for _, plugin := range e.Plugins {
		key := e.Name
		if len(e.Services) > 0 {
			key = e.Services[0]
		}
		text, err := json.Marshal(starterPlugins[plugin])
		if err != nil {
			w.t.Fatal(err)
		}
		filled := strings.NewReplacer("SERVER", key, "SECRET", e.Secrets[0]).Replace(string(text))
		settings := object{}
		if err := json.Unmarshal([]byte(filled), &settings); err != nil {
			w.t.Fatal(err)
		}
		settings["name"] = plugin
		steps = append(steps, object{"key": "use-" + plugin, "needs": []string{key},
			"plugin": settings})
	}
	return steps
}

// Every entry can be added, and a pipeline whose step begins as the entry says can be saved, with
// its plugins.
func TestStarter_EveryEntryMakesAPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	before := w.everything(root)
	all := w.listStarter(root)
	if after := w.everything(root); after != before {
		t.Errorf("listing the catalogue made something: %s", after)
	}
	for _, e := range all {
		// The first entry that needs a plugin or a service beside its own creates it.
		added := w.call("POST", "/api/v1/catalogue/"+e.Name, root, object{"plugin_registry": "local"})
		if added.status != http.StatusOK ||
			added.documents().actions()[0] != "service "+e.Name+" created" {
			t.Errorf("%s: %d %s", e.Name, added.status, added.body)
			continue
		}
		secrets := object{"MINIO_USER": object{"value": projectSecret}}
		for _, name := range e.Secrets {
			secrets[name] = object{"generate": object{"length": 32}}
		}
		saved := w.call("POST", documentsPath, root, object{"documents": []object{
			newDocument("project", "uses-"+e.Name, object{"secrets": secrets,
				"resources": object{"cpu": 16, "memory_mib": 131072},
				"pipeline":  object{"steps": w.starterPipeline(root, e)}})}})
		if saved.status != http.StatusOK {
			t.Errorf("%s: %d %s", e.Name, saved.status, saved.body)
		}
		if e.Description == "" || len(e.Ports) == 0 || e.Resources.CPU == 0 ||
			e.Resources.MemoryMiB == 0 || !strings.Contains(e.Document, "ready:") {
			t.Errorf("%s lacks something: %+v", e.Name, e)
		}
		if e.Group == "services" && len(e.Volumes) == 0 {
			t.Errorf("%s keeps nothing", e.Name)
		}
	}
	checkStarterIsWhole(t, all)
	if journal := w.listAudit(root); !strings.Contains(journal, `"put service"`) {
		t.Errorf("audit: %s", journal)
	}
}

// checkStarterIsWhole holds the catalogue to what is promised of it.
func checkStarterIsWhole(t *testing.T, all []starterEntry) {
	t.Helper()
	byName := map[string]starterEntry{}
	for _, e := range all {
		byName[e.Name] = e
	}
	for name, plugins := range map[string][]string{"postgres": {"postgres-database"},
		"mysql": {"mysql-database"}, "mariadb": {"mysql-database"}, "redis": {"redis-user"},
		"rabbitmq": {"rabbitmq-vhost"}, "nats": {}, "minio": {"s3-bucket"}, "mailpit": {},
		"keycloak": {"keycloak-user", "oauth-redirect-uri"}, "elasticsearch": {}, "opensearch": {},
		"vllm": {}, "hosted-model": {}} {
		if e, ok := byName[name]; !ok || !slices.Equal(e.Plugins, plugins) {
			t.Errorf("%s: %+v, want plugins %q", name, e, plugins)
		}
	}
	// promise: Y-15
	for name, want := range map[string]starterEntry{
		"flux": {Gpus: 1, Secrets: []string{"HF_TOKEN"}, Services: []string{}},
		"qwen-image": {Gpus: 1, Secrets: []string{"HF_TOKEN", "MINIO_PASSWORD"},
			Services: []string{"minio"}},
		"hosted-model": {Secrets: []string{"DASHSCOPE_API_KEY", "MODEL_KEY"}, Services: []string{}},
	} {
		e := byName[name]
		if e.Gpus != want.Gpus || !slices.Equal(e.Secrets, want.Secrets) ||
			!slices.Equal(e.Services, want.Services) {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
	}
}

// The name and the registries are chosen, and what exists is never changed.
func TestStarter_ChangesNothingThatExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	add := func(name string, chosen object) answer {
		return w.call("POST", "/api/v1/catalogue/"+name, root, chosen)
	}
	before := w.everything(root)
	if a := add("redis", object{"dry_run": true}); a.status != http.StatusOK ||
		!slices.Equal(a.documents().actions(), []string{"service redis created"}) {
		t.Errorf("a dry run: %d %s", a.status, a.body)
	}
	if a := add("redis", object{"name": "api"}); a.status != http.StatusConflict ||
		a.field("code") != "exists" {
		t.Errorf("a name that is taken: %d %s", a.status, a.body)
	}
	if a := add("redis", object{"registry": "nowhere"}); a.status != http.StatusBadRequest {
		t.Errorf("an unknown registry: %d %s", a.status, a.body)
	}
	if a := add("nothing", object{}); a.status != http.StatusNotFound {
		t.Errorf("an unknown entry: %d %s", a.status, a.body)
	}
	if after := w.everything(root); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	a := add("redis", object{"name": "cache", "registry": "local", "plugin_registry": "local"})
	if got := a.documents().actions(); !slices.Equal(got,
		[]string{"service cache created", "plugin redis-user created"}) {
		t.Errorf("%d %s", a.status, a.body)
	}
	read := w.call("GET", "/api/v1/services/cache", root, nil)
	if read.field("registry") != "local" || read.field("image") != "library/redis" {
		t.Errorf("%s", read.body)
	}
	again := add("redis", object{"plugin_registry": "local"})
	if got := again.documents().actions(); !slices.Equal(got, []string{"service redis created"}) {
		t.Errorf("a plugin that exists: %d %s", again.status, again.body)
	}
}

// How a step begins is held to the rules of pipelines when the service is saved.
func TestService_StepIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	body := object{"registry": "local", "image": "shop/web", "tag_mode": "selectable"}
	put := func(step object) answer {
		sent := maps.Clone(body)
		sent["step"] = step
		return w.call("PUT", "/api/v1/services/web", root, sent)
	}
	bad := put(object{"ports": []object{{"name": "a", "port": 80}, {"name": "b", "port": 80}},
		"ready": object{}})
	if found := bad.documents().Problems; bad.status != http.StatusBadRequest ||
		len(found) != 2 || found[0].Field != "step.ports[1].port" || found[1].Field != "step.ready" {
		t.Errorf("%d %s", bad.status, bad.body)
	}
	step := object{"env": object{"KEY": "${{ secrets.NOT_YET }}", "DB": "${{ services.db.host }}"},
		"ports": []object{{"name": "web", "port": 80}}}
	if a := put(step); a.status != http.StatusOK || a.field("changed") != "true" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := put(step); a.field("changed") != "false" {
		t.Errorf("the same again: %s", a.body)
	}
	if a := w.call("PUT", "/api/v1/services/web", root, body); a.field("changed") != "true" ||
		strings.Contains(string(a.body), "NOT_YET") {
		t.Errorf("a document without the step leaves one: %s", a.body)
	}
}

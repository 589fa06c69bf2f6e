package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A Compose file is read for a project: known images are services of the catalogue, others
// are listed to be added; nothing is stored.
func TestReadCompose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	if a := w.call("PUT", "/api/v1/services/store-db", root, object{"registry": "docker-hub",
		"image": "library/postgres", "tag_mode": "pinned", "tag": "v2"}); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	file := "services:\n  store:\n    image: postgres:17\n" +
		"  web:\n    image: ghcr.io/acme/web:1.0\n    depends_on: [store]\n    privileged: true\n"
	a := w.call("POST", "/api/v1/projects/shop/compose", root, object{"text": file})
	var got struct {
		Pipeline struct {
			Steps []struct {
				Key     string
				Needs   []string
				Service struct{ Name string }
			}
		}
		Registries []struct{ Name, Host string }
		Services   []struct{ Name, Registry, Image, Tag string }
		Notes      []struct {
			Line             int
			Service, Message string
		}
	}
	if err := json.Unmarshal(a.body, &got); a.status != http.StatusOK || err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	steps := got.Pipeline.Steps
	if len(steps) != 2 || steps[0].Service.Name != "store-db" || steps[1].Service.Name != "shop-web" ||
		len(steps[1].Needs) != 1 || steps[1].Needs[0] != "store" {
		t.Errorf("the pipeline is %+v", steps)
	}
	if len(got.Services) != 1 || got.Services[0].Image != "acme/web" || got.Services[0].Tag != "1.0" {
		t.Errorf("to be added: %+v", got.Services)
	}
	said := map[int]string{}
	for _, n := range got.Notes {
		said[n.Line] = n.Service + " " + n.Message
	}
	// What we never do is noted with its line, and that the catalogue has pinned another tag.
	if !strings.HasPrefix(said[7], "web privileged") || !strings.Contains(said[0], "pinned") {
		t.Errorf("the notes are %+v", got.Notes)
	}
	if a := w.call("GET", "/api/v1/services/shop-web", root, nil); a.status != http.StatusNotFound {
		t.Errorf("reading a file has added a service: %d", a.status)
	}
	bad := w.call("POST", "/api/v1/projects/shop/compose", root, object{"text": "services: ["})
	if bad.status != http.StatusBadRequest || bad.field("code") != "compose_invalid" {
		t.Errorf("no Compose file: %d %s", bad.status, bad.body)
	}
}

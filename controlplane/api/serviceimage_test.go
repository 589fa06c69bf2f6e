package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

type serviceImage struct {
	Tag, Digest, User string
	Ports             []struct {
		Port     int
		Protocol string
	}
	Env      []struct{ Name, Value string }
	Health   []string
	Volumes  []string
	Requires []struct{ Name, Value string }
}

func (w *world) serviceImage(token, service, tag string) (status int, out serviceImage) {
	w.t.Helper()
	path := "/api/v1/services/" + service + "/image"
	if tag != "" {
		path += "?tag=" + tag
	}
	a := w.call("GET", path, token, nil)
	if a.status == http.StatusOK {
		if err := json.Unmarshal(a.body, &out); err != nil {
			w.t.Fatalf("%s: %v", a.body, err)
		}
	}
	return a.status, out
}

// What an image says about how it runs, and what the catalogue knows of such images.
func TestGetServiceImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	step := object{"env": object{"API_KEY": "${{ secrets.KEY }}", "PLACE": "here"}}
	for name, image := range map[string]object{
		"mine":   {"registry": "local", "image": "shop/mine", "tag_mode": "selectable", "step": step},
		"silent": {"registry": "local", "image": "shop/silent", "tag_mode": "pinned", "tag": "v1"},
		"db": {"registry": "local", "image": "library/postgres", "tag_mode": "selectable",
			"pattern": "v*", "tag": "v1"},
	} {
		if a := w.call("PUT", "/api/v1/services/"+name, root, image); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
	}
	_, mine := w.serviceImage(root, "mine", "v1")
	if mine.Tag != "v1" || mine.User != "app" || len(mine.Ports) != 1 || mine.Ports[0].Port != 8080 ||
		len(mine.Health) != 3 || len(mine.Env) != 1 || mine.Env[0].Value != "info" ||
		len(mine.Volumes) != 1 || mine.Digest == "" {
		t.Errorf("the image says %+v", mine)
	}
	// Of the label, and of the service's own step; what is no secret is not required.
	if len(mine.Requires) != 2 || mine.Requires[0].Name != "API_KEY" ||
		mine.Requires[0].Value != "${{ secrets.KEY }}" || mine.Requires[1].Name != "TOKEN" {
		t.Errorf("it requires %+v", mine.Requires)
	}
	_, silent := w.serviceImage(root, "silent", "")
	if silent.Tag != "v1" || len(silent.Ports) != 0 || len(silent.Requires) != 0 {
		t.Errorf("the silent image says %+v", silent)
	}
	_, db := w.serviceImage(root, "db", "")
	if len(db.Requires) == 0 || db.Requires[0].Name != "POSTGRES_PASSWORD" {
		t.Errorf("postgres requires %+v", db.Requires)
	}
	if status, _ := w.serviceImage(root, "db", "other"); status != http.StatusBadRequest {
		t.Errorf("a tag outside of the pattern: %d", status)
	}
}

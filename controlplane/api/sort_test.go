package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// sorted are the lists with an order to choose, the orders of each, and what of
// an item tells which one it is.
var sorted = map[string]struct {
	path, tells string
	orders      []string
}{
	"listDeployments": {"/api/v1/deployments?", "name",
		[]string{"name", "-name", "created_at", "-created_at"}},
	"listUsers": {"/api/v1/users?", "name", []string{"name", "-name"}},
	"listNodes": {"/api/v1/nodes?", "name", []string{"name", "-name"}},
	"listAudit": {"/api/v1/audit?action=put&", "id", []string{"at", "-at"}},
}

// Each order is what its name says, a page at a time as in one piece, and with
// a minus the same from its other end.
func TestLists_Sorted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.machine("node-0", controlplane.Inventory{CPU: 8, Memory: 8 << 30, Disk: 1 << 40})
	for _, name := range []string{"beta", "alpha", "delta", "gamma"} {
		w.deploy(name)
	}
	root := w.token("root")
	for id, list := range sorted {
		for _, sort := range list.orders {
			all := w.inPages(root, list.path+"sort="+sort, list.tells, 500)
			if paged := w.inPages(root, list.path+"sort="+sort, list.tells, 2); len(all) < 2 ||
				!slices.Equal(all, paged) {
				t.Errorf("%s by %s in pages: %q, at once: %q", id, sort, paged, all)
			}
			if sort == "name" && !slices.IsSorted(all) {
				t.Errorf("%s by name: %q", id, all)
			}
			field, minus := strings.CutPrefix(sort, "-")
			other := w.inPages(root, list.path+"sort="+field, list.tells, 500)
			slices.Reverse(other)
			if minus && !slices.Equal(all, other) {
				t.Errorf("%s by %s: %q, from the other end: %q", id, sort, all, other)
			}
		}
		first := list.orders[len(list.orders)-1]
		if id == "listUsers" || id == "listNodes" {
			first = list.orders[0]
		}
		if a, b := w.inPages(root, list.path, list.tells, 500), w.inPages(root,
			list.path+"sort="+first, list.tells, 500); !slices.Equal(a, b) {
			t.Errorf("%s without sort: %q, by %s: %q", id, a, first, b)
		}
	}
	if got := w.inPages(root, "/api/v1/deployments?sort=created_at", "name", 3); !slices.Equal(got,
		[]string{"beta", "alpha", "delta", "gamma"}) {
		t.Errorf("by age: %q", got)
	}
}

// inPages reads a list to its end, so many items at a time.
func (w *world) inPages(token, path, tells string, size int) []string {
	w.t.Helper()
	return w.behind(token, path, tells, size, "")
}

// behind reads what comes after a cursor.
func (w *world) behind(token, path, tells string, size int, cursor string) (all []string) {
	w.t.Helper()
	for pages := 0; ; pages++ {
		limit, _ := json.Marshal(size)
		a := w.call("GET", path+"&limit="+string(limit)+"&cursor="+cursor, token, nil)
		var page struct {
			Items []map[string]any `json:"items"`
			Next  string           `json:"next_cursor"`
		}
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK ||
			pages > 100 {
			w.t.Fatalf("%s, page %d: %d %s", path, pages, a.status, a.body)
		}
		for _, item := range page.Items {
			text, _ := item[tells].(string)
			all = append(all, text)
		}
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// What comes and goes between two pages leaves the rest where it is: nothing is
// shown twice, and nothing that was there all the time is missing.
func TestLists_SortedWhileTheyChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	beta := w.deploy("beta")
	for _, name := range []string{"alpha", "delta", "gamma"} {
		w.deploy(name)
	}
	full := w.token("full")
	first := w.call("GET", "/api/v1/deployments?sort=name&limit=2", full, nil)
	// The page's last row goes, and rows come before and after it.
	w.expectSaved(w.lifecycle.Remove(t.Context(), system, beta.ID))
	w.reaches(beta, controlplane.Canceled)
	w.deploy("aaa")
	w.deploy("beta-2")
	rest := w.behind(full, "/api/v1/deployments?sort=name", "name", 2,
		first.field("next_cursor"))
	if !slices.Equal(rest, []string{"beta-2", "delta", "gamma"}) {
		t.Errorf("the rest is %q", rest)
	}
}

// Every order that a list does not have is refused in one sentence that names
// the field; so is a cursor of another order.
func TestLists_SortRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.deploy("alpha")
	w.deploy("beta")
	root := w.token("root")
	for id, list := range sorted {
		for _, bad := range []string{"size", "name%3Bdrop", "--" + list.orders[0], "NAME", ""} {
			a := w.call("GET", list.path+"sort="+bad, root, nil)
			if a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest ||
				a.field("field") != "sort" || a.field("remedy") == "" ||
				!strings.Contains(a.field("detail"), list.orders[0]) {
				t.Errorf("%s by %q: %d %s", id, bad, a.status, a.body)
			}
		}
	}
	if a := w.call("GET", "/api/v1/deployments?sort=name;drop", root, nil); a.status !=
		http.StatusBadRequest || a.field("code") != "query_invalid" {
		t.Errorf("half a query: %d %s", a.status, a.body)
	}
	cursors := map[string]string{}
	for _, sort := range sorted["listDeployments"].orders {
		cursors[sort] = w.call("GET", "/api/v1/deployments?limit=1&sort="+sort, root,
			nil).field("next_cursor")
	}
	for _, query := range []string{"sort=name&cursor=" + cursors["created_at"],
		"cursor=" + cursors["name"], "sort=name&cursor=/" + cursors["created_at"],
		"sort=name&cursor=Alpha/" + cursors["created_at"], "sort=name&cursor=alpha/x"} {
		a := w.call("GET", "/api/v1/deployments?"+query, root, nil)
		if a.field("code") != "cursor_invalid" || a.field("field") != "cursor" {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// An order is no way around access: a stranger's list is empty in each.
func TestLists_SortedStayHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.deploy("alpha")
	stranger, reader := w.token("stranger"), w.token("reader")
	for _, sort := range sorted["listDeployments"].orders {
		path := "/api/v1/deployments?sort=" + sort
		if got := w.inPages(stranger, path, "name", 2); len(got) != 0 {
			t.Errorf("by %s a stranger sees %q", sort, got)
		}
		if got := w.inPages(reader, path, "name", 2); len(got) != 1 {
			t.Errorf("by %s a reader sees %q", sort, got)
		}
	}
}

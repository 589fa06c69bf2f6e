package registry_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/registry"
)

// A registry counts the requests of each account: one that must wait keeps
// nobody else from asking, and new credentials are tried at once.
func TestListTags_PausesOneAccount(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch user, password, _ := r.BasicAuth(); {
		case user == "":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case password == "spent":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			if !pingRegistry(w, r) {
				_, _ = w.Write([]byte(`{"tags":["v1"]}`))
			}
		}
	})
	c := newClient(t, registry.Config{})
	spent, other, again := plainSource(f.host()), plainSource(f.host()), plainSource(f.host())
	spent.Credentials.Password = controlplane.NewPlain("spent")
	again.Credentials.Password = controlplane.NewPlain("new")
	other.Credentials.Username = "ada"
	if _, err := c.ListTags(t.Context(), spent); controlplane.CodeOf(err) != "registry_busy" {
		t.Fatalf("got %v", err)
	}
	for _, s := range []registry.Source{other, again} {
		if l, err := c.ListTags(t.Context(), s); err != nil || len(l.Tags) != 1 {
			t.Errorf("%s: %v %v", s.Credentials.Username, l.Tags, err)
		}
	}
	calls := f.calls.Load()
	spent.Repository = "shop/web"
	if _, err := c.ListTags(t.Context(), spent); controlplane.CodeOf(err) != "registry_busy" ||
		f.calls.Load() != calls {
		t.Errorf("the account that must wait asked again: %v", err)
	}
}

// A list that an old password could read is not what a new one is shown, and
// nobody reads on with the old one.
func TestListTags_ForgetsTheOldPassword(t *testing.T) {
	t.Parallel()
	var old atomic.Int64
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if password == "old" {
			old.Add(1)
		}
		if password != "old" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !pingRegistry(w, r) {
			_, _ = w.Write([]byte(`{"tags":["v1"]}`))
		}
	})
	var now atomic.Int64
	c := newClient(t, registry.Config{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	s := plainSource(f.host())
	s.Credentials.Password = controlplane.NewPlain("old")
	if _, err := c.ListTags(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.Credentials.Password = controlplane.NewPlain("wrong")
	if l, err := c.ListTags(t.Context(), s); controlplane.CodeOf(err) != "registry_denied" {
		t.Errorf("a wrong password is shown %v, %v", l.Tags, err)
	}
	asked := old.Load()
	now.Add(30)
	_ = c.Refresh(t.Context())
	if old.Load() != asked {
		t.Error("the old password was used again")
	}
}

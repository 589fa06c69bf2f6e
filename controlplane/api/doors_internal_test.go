package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// An operation without x-access, or with an unknown action, is denied to everyone: admins, the
// system, and people who are not signed in.
func TestAccess_MissingIsDenied(t *testing.T) {
	t.Parallel()
	admin := access.User(controlplane.User{Name: "root", Role: controlplane.RoleAdmin}, nil)
	for _, action := range []access.Action{"", "everybody", "Public"} {
		for _, who := range []access.Actor{admin, access.System("x"), access.Nobody()} {
			if err := access.Check(who, actionWithoutObject(action), access.Object{}); err == nil {
				t.Errorf("x-access %q lets %s in", action, who.Name())
			}
		}
	}
}

// The same through the router: the handler is never reached.
func TestDoor_WithoutAccessStaysShut(t *testing.T) {
	t.Parallel()
	s := &server{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	d, err := newDoors(s)
	if err != nil {
		t.Fatal(err)
	}
	// A copy of its own: all servers of the process share the contract.
	if d.spec, err = readContract(); err != nil {
		t.Fatal(err)
	}
	op := d.spec.Paths.Value("/api/v1/version").Get
	delete(op.Extensions, "x-access")
	d.mux = http.NewServeMux()
	d.HandleFunc("GET /api/v1/version", func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was reached")
	})
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/version", nil))
	if w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A route that is not in the contract cannot be served.
func TestDoors_OnlyTheContract(t *testing.T) {
	t.Parallel()
	s := &server{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	d, err := newDoors(s)
	if err != nil {
		t.Fatal(err)
	}
	d.HandleFunc("GET /api/v1/debug", func(http.ResponseWriter, *http.Request) {})
	if d.err == nil {
		t.Error("a route without an operation was registered")
	}
}

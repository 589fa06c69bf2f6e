// Package keycloaktest is a small server that answers the paths of Keycloak's
// admin REST API that our plugins use, as Keycloak does: the token needs the
// admin's password, names of users are unique and in lower case, an unknown
// realm is a 404. It is no Keycloak: it checks nothing else.
//
//	POST   /realms/master/protocol/openid-connect/token
//	GET    /admin/realms/shop/users?username=NAME&exact=true
//	POST   /admin/realms/shop/users
//	PUT    /admin/realms/shop/users/ID
//	PUT    /admin/realms/shop/users/ID/reset-password
//	DELETE /admin/realms/shop/users/ID
//	GET    /admin/realms/shop/clients?clientId=NAME
//	GET    /admin/realms/shop/clients/ID
//	PUT    /admin/realms/shop/clients/ID
//	POST   /admin/realms/shop/clients/ID/roles
//	GET    /admin/realms/shop/clients/ID/roles/NAME
//	DELETE /admin/realms/shop/roles-by-id/ID
package keycloaktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// AdminPassword is the password of the user admin.
const AdminPassword = "admin-password"

const bearer = "Bearer the-token"

// Server has one realm, shop. Lock it to look at it while it serves.
type Server struct {
	sync.Mutex
	// URL is where it answers.
	URL string
	// Users and Passwords are by id.
	Users     map[string]map[string]any
	Passwords map[string]string
	// Clients are by id.
	Clients map[string]map[string]any
	// Roles are those of clients, by the client's id and the role's name.
	Roles map[string]map[string]any
	made  int
	// Starting is how many requests are answered 503.
	Starting int
	// AfterPut, if set, is called after a client was replaced, with the lock
	// held: another admin who overwrites it.
	AfterPut func()
}

// New starts a server on loopback that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	return NewOn(t, "127.0.0.1")
}

// NewOn starts a server on an address of this machine.
func NewOn(t testing.TB, host string) *Server {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Users: map[string]map[string]any{}, Passwords: map[string]string{},
		Clients: map[string]map[string]any{}, Roles: map[string]map[string]any{}}
	server := httptest.NewUnstartedServer(s)
	_ = server.Listener.Close() // the one on loopback
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// ServeHTTP answers one request at a time.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	if s.Starting > 0 {
		s.Starting--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == "/realms/master/protocol/openid-connect/token" {
		if r.PostFormValue("password") != AdminPassword || r.PostFormValue("username") != "admin" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"the-token","expires_in":60}`))
		return
	}
	rest, inRealm := strings.CutPrefix(r.URL.Path, "/admin/realms/shop/")
	kind, rest, _ := strings.Cut(rest, "/")
	switch {
	case r.Header.Get("Authorization") != bearer:
		w.WriteHeader(http.StatusUnauthorized)
	case inRealm && kind == "users":
		s.serveUsers(w, r, rest)
	case inRealm && kind == "clients" && strings.Contains(rest, "/roles"):
		s.serveRoles(w, r, rest)
	case inRealm && kind == "clients":
		s.serveClients(w, r, rest)
	case inRealm && kind == "roles-by-id":
		s.dropRole(w, rest)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *Server) serveUsers(w http.ResponseWriter, r *http.Request, rest string) {
	id, action, _ := strings.Cut(rest, "/")
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // none for GET and DELETE
	switch {
	case r.Method == http.MethodGet:
		found := []map[string]any{}
		for _, user := range s.Users {
			if user["username"] == strings.ToLower(r.URL.Query().Get("username")) {
				found = append(found, user)
			}
		}
		_ = json.NewEncoder(w).Encode(found)
	case r.Method == http.MethodPost:
		name := strings.ToLower(body["username"].(string))
		body["id"], body["username"] = "id-"+name, name
		if s.Users["id-"+name] != nil {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.Users["id-"+name] = body
		w.WriteHeader(http.StatusCreated)
	case s.Users[id] == nil:
		w.WriteHeader(http.StatusNotFound)
	case action == "reset-password":
		s.Passwords[id] = body["value"].(string)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodDelete:
		delete(s.Users, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		s.Users[id]["email"] = body["email"]
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) serveClients(w http.ResponseWriter, r *http.Request, id string) {
	switch {
	case r.Method == http.MethodGet && id == "":
		found := []map[string]any{}
		for _, client := range s.Clients {
			if client["clientId"] == r.URL.Query().Get("clientId") {
				found = append(found, client)
			}
		}
		_ = json.NewEncoder(w).Encode(found)
	case s.Clients[id] == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(s.Clients[id])
	default:
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.Clients[id] = body
		if s.AfterPut != nil {
			s.AfterPut()
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// serveRoles answers below clients/ID/roles.
func (s *Server) serveRoles(w http.ResponseWriter, r *http.Request, rest string) {
	client, rest, _ := strings.Cut(rest, "/roles")
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // none for GET
	name, _ := body["name"].(string)
	name += strings.TrimPrefix(rest, "/")
	key := client + "/" + name
	switch role := s.Roles[key]; {
	case s.Clients[client] == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPost && role != nil:
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPost:
		s.made++
		body["id"] = fmt.Sprintf("role-%d", s.made)
		s.Roles[key] = body
		w.WriteHeader(http.StatusCreated)
	case role == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(role)
	}
}

func (s *Server) dropRole(w http.ResponseWriter, id string) {
	before := len(s.Roles)
	maps.DeleteFunc(s.Roles, func(_ string, role map[string]any) bool { return role["id"] == id })
	if len(s.Roles) == before {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Package vaulttest is a Vault for tests. It follows the documented wire format for the
// requests that NullOps makes: the KV engine version 2, the transit engine, sign-in with
// AppRole, a Kubernetes service account or a token, renewal, namespaces, policies, and a
// sealed or unreachable server. Statuses and texts of errors are those in the source of
// OpenBao 2.6.2. The cryptography of the transit engine is real.
package vaulttest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the server knows from the start.
const (
	RoleID   = "7d3c5f5a-role-id"
	SecretID = "secret-id-canary-5b1e"
	// JWT is the service account's token, and JWTRole its role.
	JWT     = "service-account-canary-9a2f"
	JWTRole = "nullops"
	// TransitKey is the name of a transit key of the right type.
	TransitKey = "nullops"
)

// Server is a running Vault.
type Server struct {
	*httptest.Server
	// Namespace is required of every request; empty is the root namespace.
	Namespace string

	mu       sync.Mutex
	tokens   map[string]*token
	kv       map[string]map[string]any
	keys     map[string]*transitKey
	policy   []rule
	ttl      time.Duration
	maxTTL   time.Duration
	sealed   bool
	cut      bool
	cutAfter int
	requests []string
}

type token struct {
	until, end time.Time
}

// New starts a server that speaks plain HTTP on this machine.
func New(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// NewTLS starts a server whose certificate is signed by its own authority.
func NewTLS(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func newServer() *Server {
	return &Server{tokens: map[string]*token{}, kv: map[string]map[string]any{},
		keys: map[string]*transitKey{TransitKey: newTransitKey("aes256-gcm96")},
		ttl:  time.Hour, maxTTL: 24 * time.Hour}
}

// PutKV writes a value into the KV engine at secret/.
func (s *Server) PutKV(path string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kv["secret/data/"+path] = fields
}

// SetPolicy sets these rules for every token, in the language of policies. Without a call,
// tokens may do everything.
func (s *Server) SetPolicy(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = parsePolicy(text)
}

// SetTTL says how long tokens live that are given out from now on.
func (s *Server) SetTTL(ttl, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ttl, s.maxTTL = ttl, longest
}

// SetSealed seals or unseals the server.
func (s *Server) SetSealed(sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
}

// SetCut breaks every connection, or none.
func (s *Server) SetCut(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
}

// CutAfter breaks every connection after so many further requests.
func (s *Server) CutAfter(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutAfter = requests + 1
}

// NewToken makes a token without a sign-in.
func (s *Server) NewToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newTokenLocked()
}

// RevokeTokens makes every token invalid.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Count is how many requests contained the path.
func (s *Server) Count(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.Contains(r, path) {
			n++
		}
	}
	return n
}

func (s *Server) newTokenLocked() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	id := "s.token-canary-" + hex.EncodeToString(b)
	now := time.Now()
	s.tokens[id] = &token{until: now.Add(s.ttl), end: now.Add(s.maxTTL)}
	return id
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, known := strings.CutPrefix(r.URL.Path, "/v1/")
	s.requests = append(s.requests, r.Method+" "+path)
	body := map[string]any{}
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	if s.cutAfter > 0 {
		s.cutAfter--
		s.cut = s.cutAfter == 0
	}
	switch {
	case s.cut:
		panic(http.ErrAbortHandler)
	case s.sealed:
		writeErrors(w, http.StatusServiceUnavailable, "Vault is sealed")
	case r.Header.Get("X-Vault-Request") != "true":
		writeErrors(w, http.StatusPreconditionFailed, "required request header missing")
	case r.Header.Get("X-Vault-Namespace") != s.Namespace:
		writeErrors(w, http.StatusNotFound, "namespace not found")
	case !known:
		writeErrors(w, http.StatusNotFound)
	case path == "auth/approle/login":
		s.signIn(w, body["role_id"] == RoleID && body["secret_id"] == SecretID,
			http.StatusBadRequest, "invalid role or secret ID")
	case path == "auth/kubernetes/login":
		s.signIn(w, body["role"] == JWTRole && body["jwt"] == JWT,
			http.StatusForbidden, "permission denied")
	default:
		s.serveSignedIn(w, r, path, body)
	}
}

func (s *Server) signIn(w http.ResponseWriter, right bool, status int, refusal string) {
	if !right {
		writeErrors(w, status, refusal)
		return
	}
	answerAuth(w, s.newTokenLocked(), s.ttl)
}

func (s *Server) serveSignedIn(
	w http.ResponseWriter, r *http.Request, path string, body map[string]any,
) {
	id := r.Header.Get("X-Vault-Token")
	t, ok := s.tokens[id]
	if !ok || time.Now().After(t.until) {
		writeErrors(w, http.StatusForbidden, "permission denied")
		return
	}
	switch path {
	case "auth/token/lookup-self":
		answerData(w, map[string]any{"ttl": int(time.Until(t.until).Seconds()), "renewable": true})
		return
	case "auth/token/renew-self":
		t.until = time.Now().Add(s.ttl)
		if t.until.After(t.end) {
			t.until = t.end
		}
		answerAuth(w, id, time.Until(t.until))
		return
	}
	if !s.allows(r.Method, path) {
		writeErrors(w, http.StatusForbidden, "1 error occurred:\n\t* permission denied\n\n")
		return
	}
	s.serveEngines(w, path, body)
}

func (s *Server) serveEngines(w http.ResponseWriter, path string, body map[string]any) {
	if fields, ok := s.kv[path]; ok {
		answerData(w, map[string]any{"data": fields, "metadata": map[string]any{
			"created_time": "2026-08-21T14:58:13.0Z", "custom_metadata": nil, "deletion_time": "",
			"destroyed": false, "version": 1}})
		return
	}
	engine, name, _ := strings.Cut(strings.TrimPrefix(path, "transit/"), "/")
	k := s.keys[name]
	switch {
	case !strings.HasPrefix(path, "transit/") || k == nil && engine == "keys":
		writeErrors(w, http.StatusNotFound)
	case k == nil:
		writeErrors(w, http.StatusBadRequest, "encryption key not found")
	case engine == "keys":
		answerData(w, k.describe(name))
	case engine == "encrypt":
		k.encrypt(w, body)
	case engine == "decrypt":
		k.decrypt(w, body)
	default:
		writeErrors(w, http.StatusNotFound)
	}
}

func answerAuth(w http.ResponseWriter, id string, ttl time.Duration) {
	writeAnswer(w, nil, map[string]any{"client_token": id, "accessor": "accessor",
		"policies": []string{"default", "nullops"}, "token_policies": []string{"default", "nullops"},
		"metadata":       map[string]any{"role_name": "nullops"},
		"lease_duration": int(ttl.Round(time.Second).Seconds()), "renewable": true,
		"entity_id": "", "token_type": "service", "orphan": true,
		"mfa_requirement": nil, "num_uses": 0})
}

func answerData(w http.ResponseWriter, data map[string]any) { writeAnswer(w, data, nil) }

func writeAnswer(w http.ResponseWriter, data, auth map[string]any) {
	answer := map[string]any{"request_id": "r", "lease_id": "", "renewable": false,
		"lease_duration": 0, "data": nil, "wrap_info": nil, "warnings": nil, "auth": nil}
	if data != nil {
		answer["data"] = data
	}
	if auth != nil {
		answer["auth"] = auth
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func writeErrors(w http.ResponseWriter, status int, reasons ...string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if reasons == nil {
		reasons = []string{}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": reasons})
}

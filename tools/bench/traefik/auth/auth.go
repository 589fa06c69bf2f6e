// Package auth stands for Traefik's own fork of go-http-auth, which cannot be had from every Go
// module proxy. It lets nobody in: no measured request asks for a password.
package auth

import "net/http"

// SecretProvider returns what a user's password is compared with.
type SecretProvider func(user, realm string) string

// CheckSecret accepts no password.
func CheckSecret(password, secret string) bool { return false }

// BasicAuth accepts nobody.
type BasicAuth struct {
	Realm   string
	Secrets SecretProvider
}

// RequireAuth refuses a request.
func (b *BasicAuth) RequireAuth(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}

// DigestAuth accepts nobody.
type DigestAuth struct{}

// NewDigestAuthenticator returns one that accepts nobody.
func NewDigestAuthenticator(realm string, secrets SecretProvider) *DigestAuth {
	return &DigestAuth{}
}

// CheckAuth finds no user.
func (d *DigestAuth) CheckAuth(r *http.Request) (user string, info *string) { return "", nil }

// RequireAuth refuses a request.
func (d *DigestAuth) RequireAuth(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}

// RequireAuthStale refuses a request.
func (d *DigestAuth) RequireAuthStale(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}

// DigestAuthParams reads nothing.
func DigestAuthParams(header string) map[string]string { return nil }

package vaulttest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// transitKey holds all versions, the oldest first.
type transitKey struct {
	kind     string
	versions []cipher.AEAD
	// oldest is the oldest version that decrypts.
	oldest int
}

func newTransitKey(kind string) *transitKey {
	k := &transitKey{kind: kind, oldest: 1}
	k.rotate()
	return k
}

func (k *transitKey) rotate() {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	k.versions = append(k.versions, aead)
}

// AddTransitKey makes another key, of the type given.
func (s *Server) AddTransitKey(name, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[name] = newTransitKey(kind)
}

// RotateTransit adds a version to the key.
func (s *Server) RotateTransit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[TransitKey].rotate()
}

// RetireTransit refuses to decrypt with versions before the one given.
func (s *Server) RetireTransit(oldest int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[TransitKey].oldest = oldest
}

func (k *transitKey) describe(name string) map[string]any {
	times := map[string]any{}
	for i := range k.versions {
		times[strconv.Itoa(i+1)] = 1787324293
	}
	return map[string]any{"name": name, "type": k.kind, "latest_version": len(k.versions),
		"min_decryption_version": k.oldest, "min_encryption_version": 0, "min_available_version": 0,
		"derived": false, "exportable": false, "allow_plaintext_backup": false,
		"deletion_allowed": false, "imported_key": false, "auto_rotate_period": 0, "keys": times,
		"supports_encryption": true, "supports_decryption": true, "supports_derivation": true,
		"supports_signing": false}
}

func (k *transitKey) encrypt(w http.ResponseWriter, body map[string]any) {
	plain, err1 := decodeField(body, "plaintext")
	bound, err2 := decodeField(body, "associated_data")
	if err1 != nil || err2 != nil {
		writeErrors(w, http.StatusBadRequest, "failed to base64-decode plaintext")
		return
	}
	n := len(k.versions)
	sealed := k.versions[n-1].Seal(nil, nil, plain, bound)
	answerData(w, map[string]any{"key_version": n,
		"ciphertext": fmt.Sprintf("vault:v%d:%s", n, base64.StdEncoding.EncodeToString(sealed))})
}

func (k *transitKey) decrypt(w http.ResponseWriter, body map[string]any) {
	text, _ := body["ciphertext"].(string)
	parts := strings.SplitN(text, ":", 3)
	bound, err := decodeField(body, "associated_data")
	if err != nil || len(parts) != 3 || parts[0] != "vault" {
		writeErrors(w, http.StatusBadRequest, "invalid ciphertext: no prefix")
		return
	}
	n, err1 := strconv.Atoi(strings.TrimPrefix(parts[1], "v"))
	sealed, err2 := base64.StdEncoding.DecodeString(parts[2])
	switch {
	case err1 != nil || err2 != nil || n < 1 || n > len(k.versions):
		writeErrors(w, http.StatusBadRequest, "invalid ciphertext: version is too new")
		return
	case n < k.oldest:
		writeErrors(w, http.StatusBadRequest,
			"ciphertext or signature version is disallowed by policy (too old)")
		return
	}
	plain, err := k.versions[n-1].Open(nil, nil, sealed, bound)
	if err != nil {
		writeErrors(w, http.StatusBadRequest, "cipher: message authentication failed")
		return
	}
	answerData(w, map[string]any{"plaintext": base64.StdEncoding.EncodeToString(plain)})
}

func decodeField(body map[string]any, name string) ([]byte, error) {
	text, _ := body[name].(string)
	return base64.StdEncoding.DecodeString(text)
}

// rule is one path of a policy.
type rule struct {
	path         string
	capabilities []string
}

var rulePattern = regexp.MustCompile(`path\s+"([^"]+)"\s*\{\s*capabilities\s*=\s*\[([^\]]*)\]`)

func parsePolicy(text string) (all []rule) {
	for _, m := range rulePattern.FindAllStringSubmatch(text, -1) {
		r := rule{path: m[1]}
		for c := range strings.SplitSeq(m[2], ",") {
			r.capabilities = append(r.capabilities, strings.Trim(strings.TrimSpace(c), `"`))
		}
		all = append(all, r)
	}
	return all
}

// allows checks a request against the policy; a path that ends in * is a prefix.
func (s *Server) allows(method, path string) bool {
	if s.policy == nil {
		return true
	}
	need := "read"
	if method != http.MethodGet {
		need = "update"
	}
	for _, r := range s.policy {
		prefix, wild := strings.CutSuffix(r.path, "*")
		matches := path == r.path || wild && strings.HasPrefix(path, prefix)
		if matches && slices.Contains(r.capabilities, need) {
			return true
		}
	}
	return false
}

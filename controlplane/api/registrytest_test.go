package api_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
)

// The forms of registries and services try what is not saved yet: the answer
// says how many tags a pattern would let people choose, and what is wrong with it.
func TestTestRegistry_TriesAPattern(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	const path = "/registries/local/test"
	try := func(body object) (said api.RegistryTested) {
		t.Helper()
		w.expect(http.StatusOK, http.MethodPost, path, root, body, &said)
		if !said.Ok {
			t.Errorf("%v: %s", body, *said.Detail)
		}
		return said
	}
	if said := try(object{}); said.Total != nil {
		t.Errorf("without an image it lists %d tags", *said.Total)
	}
	if said := try(object{"image": "shop/api"}); *said.Matching != 3 {
		t.Errorf("%d tags match no pattern, want all three", *said.Matching)
	}
	said := try(object{"image": "shop/api", "pattern": "1.*"})
	if *said.Matching != 2 || *said.Total != 3 {
		t.Errorf("%d of %d match 1.*, want 2 of 3", *said.Matching, *said.Total)
	}
	w.expect(http.StatusBadRequest, http.MethodPost, path, root,
		object{"image": "shop/api", "pattern": "[a-"}, nil)
}

// A registry's certificate authority is kept as it is given, gone when it is left
// out, and refused with the field's name when it is none.
func TestPutRegistry_ChecksTheCA(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	// The certificate of Go's test servers is its own authority, until 2084.
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: server.Certificate().Raw}))
	const path = "/registries/own"
	body := object{"host": "registry.shop.test", "ca": bundle}
	var saved api.RegistrySaved
	w.expect(http.StatusOK, http.MethodPut, path, root, body, &saved)
	w.expect(http.StatusOK, http.MethodPut, path, root, body, &saved)
	if saved.Changed || saved.Registry.Ca == nil || *saved.Registry.Ca != bundle {
		t.Errorf("the same twice: %+v", saved)
	}
	for ca, code := range map[string]string{
		"hello": "ca_invalid",
		bundle + strings.ReplaceAll(bundle, "CERTIFICATE", "RSA PRIVATE KEY"): "ca_private_key",
	} {
		bad := w.call(http.MethodPut, "/api/v1"+path, root,
			object{"host": "registry.shop.test", "ca": ca})
		if bad.status != http.StatusBadRequest || bad.field("code") != code ||
			bad.field("field") != "ca" || bad.field("remedy") == "" {
			t.Errorf("%.20s: %d %s", ca, bad.status, bad.body)
		}
	}
	plain := w.call(http.MethodPut, "/api/v1"+path, root,
		object{"host": "localhost:5003", "insecure": true, "ca": bundle})
	if plain.status != http.StatusBadRequest || plain.field("field") != "ca" {
		t.Errorf("with plain HTTP: %d %s", plain.status, plain.body)
	}
	var bare api.RegistrySaved
	w.expect(http.StatusOK, http.MethodPut, path, root, object{"host": "registry.shop.test"}, &bare)
	if !bare.Changed || bare.Registry.Ca != nil {
		t.Errorf("left out: %+v", bare)
	}
}

package registry_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/registry"
)

// What nobody can deploy is not offered: a list is a stranger's words.
func TestListTags_OffersImagesOnly(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0a", 32)
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if pingRegistry(w, r) {
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tags": []string{
			"v1", "v2", "v1", "", "-x", ".x", "a/b", "a:b", "a b", "../x", "tag\n", "ä",
			strings.Repeat("x", 129), "sha256-" + hex, "sha256-" + hex + ".sig",
			"sha256-" + hex + ".att", "sha256-" + hex + ".sbom", "sha-3f2a1bc",
		}})
	})
	l, err := newClient(t, registry.Config{}).ListTags(t.Context(), plainSource(f.host()))
	if want := []string{"v2", "v1", "sha-3f2a1bc"}; err != nil || !slices.Equal(l.Tags, want) {
		t.Errorf("offered %q, want %q: %v", l.Tags, want, err)
	}
}

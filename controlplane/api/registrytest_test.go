package api_test

import (
	"net/http"
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

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// A fork's commit is approved on the page of its rule: exactly the one that was looked at. What is
// no fork's, closed, or pushed meanwhile is refused in words, and nothing is deployed.
func TestReview_ForkIsApprovedThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.makeRule("shop", "github", newCodeHost(t).URL, object{"tag": "{short}", "forks": true})
	const path, key = "/rules/shop/approvals", "acme/shop#12"
	refuse := func(status int, code, key, commit string) {
		t.Helper()
		var said api.Problem
		w.expect(status, "POST", path, w.token("root"), object{"key": key, "commit": commit}, &said)
		if said.Code != code {
			t.Errorf("%s, %s is refused with %+v", key, commit, said)
		}
	}
	await := func(awaits bool) {
		t.Helper()
		w.awaitReview("shop", func(r api.Review) bool {
			return (r.AwaitsApproval != nil && *r.AwaitsApproval) == awaits
		})
	}
	refuse(http.StatusNotFound, "not_found", key, "aaaaaaa1")
	w.github("shop", pullRequest("opened", "main", "aaaaaaa1", "eve/shop"))
	await(true)
	refuse(http.StatusConflict, "commit_outdated", key, "bbbbbbb")
	refuse(http.StatusBadRequest, "invalid", key, "aaaa")
	w.github("shop", pullRequest("synchronize", "main", "bbbbbbb2", "eve/shop"))
	refuse(http.StatusConflict, "commit_outdated", key, "aaaaaaa1")
	w.awaitReview("shop", func(r api.Review) bool {
		return r.Detail != nil && strings.Contains(*r.Detail, "/nullops approve bbbbbbb")
	})
	early, err := w.lifecycle.List(t.Context(), system, lifecycle.Filter{Name: "shop-12", Most: 1})
	w.expectSaved(nil, err)
	// promise: W-02
	if len(early) > 0 {
		t.Errorf("before anybody approved it, there is %+v", early)
	}

	var approved api.Review
	for range 2 { // the second is a double click
		w.expect(http.StatusOK, "POST", path, w.token("root"),
			object{"key": key, "commit": "BBBBBBB2"}, &approved)
	}
	await(false)
	d := w.awaitDeployment("shop-12", isQueued)
	// promise: W-02
	if d.Versions[0].Tag != "bbbbbbb" || approved.AwaitsApproval != nil {
		t.Errorf("approved %+v, deployed %+v", approved, d.Versions)
	}
	w.github("shop", pullRequest("closed", "main", "bbbbbbb2", "eve/shop"))
	refuse(http.StatusConflict, "review_closed", key, "bbbbbbb2")
}
